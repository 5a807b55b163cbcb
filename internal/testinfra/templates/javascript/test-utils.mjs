// The test infrastructure: every test takes its application and its database from here.
//
// It comes from a template of the Ralph toolkit and knows nothing of this project. Change it as the project needs: let
// createTestApp build the application's own listener, let withTestDb open the project's own kind of database.
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * An application instance with real test dependencies: the listener, served over HTTP on a free local port until close
 * is called. An Express application is a listener, of a Koa one it is app.callback(). It gives url, where it answers,
 * request(path, init), which sends a real request as fetch does, and close().
 */
export async function createTestApp(listener) {
  const server = createServer(listener)
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${server.address().port}`
  return {
    url,
    request: (path, init) => fetch(new URL(path, url), init),
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

/**
 * The test database's life cycle, seed and cleanup: opens one, seeds it, lets the work have it, and closes and removes it
 * whatever the work did. It gives what the work gives. setup has open(folder), which is given an empty folder of its own,
 * and may have seed(db) and close(db).
 */
export async function withTestDb(setup, work) {
  const folder = await mkdtemp(join(tmpdir(), 'test-db-'))
  try {
    const db = await setup.open(folder)
    try {
      await setup.seed?.(db)
      return await work(db)
    } finally {
      await setup.close?.(db)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
