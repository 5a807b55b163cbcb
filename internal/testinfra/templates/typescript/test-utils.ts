// The test infrastructure: every test takes its application and its database from here.
//
// It comes from a template of the Ralph toolkit and knows nothing of this project. Change it as the project needs: let
// createTestApp build the application's own listener, let withTestDb open the project's own kind of database.
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An application that runs. */
export interface TestApp {
  /** Where it answers, such as http://127.0.0.1:49152. */
  url: string
  /** Sends a real request; the path is one from the root. */
  request(path: string, init?: Parameters<typeof fetch>[1]): ReturnType<typeof fetch>
  /** Ends it, and every connection to it. */
  close(): Promise<void>
}

/**
 * An application instance with real test dependencies: the listener, served over HTTP on a free local port until close
 * is called. An Express application is a listener, of a Koa one it is app.callback().
 */
export async function createTestApp(listener: RequestListener): Promise<TestApp> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    request: (path, init) => fetch(new URL(path, url), init),
    close: () =>
      new Promise<void>((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()))
        server.closeAllConnections()
      }),
  }
}

/** How a project's database is opened, filled and closed. */
export interface TestDb<DB> {
  /** Opens it; the folder is empty and its own. */
  open(folder: string): DB | Promise<DB>
  seed?(db: DB): unknown
  close?(db: DB): unknown
}

/**
 * The test database's life cycle, seed and cleanup: opens one, seeds it, lets the work have it, and closes and removes it
 * whatever the work did. It gives what the work gives.
 */
export async function withTestDb<DB, Result>(setup: TestDb<DB>, work: (db: DB) => Result | Promise<Result>): Promise<Result> {
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
