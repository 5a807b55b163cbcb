import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { createTestApp, withTestDb } from './test-utils.js'

test('createTestApp serves real requests until it is closed', async () => {
  const app = await createTestApp((request, response) => {
    response.end(`${request.method} ${request.url}`)
  })
  const answer = await app.request('/books', { method: 'POST' })
  assert.equal(await answer.text(), 'POST /books')
  await app.close()
  await assert.rejects(app.request('/books'))
})

interface Db {
  folder: string
  file: string
  open: boolean
}

const setup = {
  open: (folder: string): Db => ({ folder, file: join(folder, 'data'), open: true }),
  seed: (db: Db) => writeFileSync(db.file, 'seed'),
  close: (db: Db) => {
    db.open = false
  },
}

test('withTestDb opens, seeds, closes and removes a database', async () => {
  const db = await withTestDb(setup, async (db) => {
    assert.equal(readFileSync(db.file, 'utf8'), 'seed')
    assert.ok(db.open)
    await withTestDb(setup, (other) => assert.notEqual(other.folder, db.folder))
    return db
  })
  assert.ok(!db.open)
  assert.ok(!existsSync(db.folder))
})

test('withTestDb removes the database of a test that failed', async () => {
  let folder = ''
  await assert.rejects(
    withTestDb({ open: (it) => (folder = it) }, () => {
      throw new Error('the test failed')
    }),
    /the test failed/,
  )
  assert.ok(folder !== '' && !existsSync(folder))
})
