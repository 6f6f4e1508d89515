// nostr-tools against a running relay: publish, query, follow live, delete, count, reconcile.
//
//   npm install --prefix scripts/nostr-tools
//   node scripts/nostr-tools/check-relay.mjs ws://127.0.0.1:7447
//
// Prints one line a step; the exit status is 1 if a step fails. Writes events of a fresh key.

import assert from 'node:assert/strict'
import { finalizeEvent, generateSecretKey, getPublicKey, verifyEvent } from 'nostr-tools/pure'
import { nip77 } from 'nostr-tools'
import { Relay, useWebSocketImplementation } from 'nostr-tools/relay'
import WebSocket from 'ws'

useWebSocketImplementation(WebSocket)

const url = process.argv[2] ?? 'ws://127.0.0.1:7447'
const secret = generateSecretKey()
const pubkey = getPublicKey(secret)
const now = Math.floor(Date.now() / 1000)
const sign = (kind, content, tags = [], created_at = now) =>
  finalizeEvent({ kind, content, tags, created_at }, secret)

const giveUp = setTimeout(() => fail(new Error('no answer within 20 s')), 20_000)

function fail(error) {
  console.error(`failed: ${error.message ?? error}`)
  process.exit(1)
}

function query(relay, ...filters) {
  return new Promise((resolve, reject) => {
    const events = []
    const sub = relay.subscribe(filters, {
      onevent: event => events.push(event),
      oneose: () => { resolve(events); sub.close() },
      onclose: reason => reject(new Error(`subscription closed: ${reason}`)),
    })
  })
}

// What the relay lacks of `events`, and what it has besides.
function reconcile(relay, filter, events) {
  const storage = new nip77.NegentropyStorageVector()
  for (const event of events) storage.insert(event.created_at, event.id)
  storage.seal()
  const [have, need] = [new Set(), new Set()]
  return new Promise((resolve, reject) => {
    const sync = new nip77.NegentropySync(relay, storage, filter, {
      onhave: id => have.add(id),
      onneed: id => need.add(id),
      onclose: reason => reason ? reject(new Error(reason)) : resolve({ have, need }),
    })
    sync.start()
  })
}

const ids = events => events.map(event => event.id)

async function run() {
  const writer = await Relay.connect(url)
  const reader = await Relay.connect(url)

  const live = []
  let arrived = () => {}
  await new Promise(resolve => {
    reader.subscribe([{ authors: [pubkey], kinds: [1] }], {
      onevent: event => { live.push(event); arrived() },
      oneose: resolve,
    })
  })
  const notes = [1, 2, 3].map(n => sign(1, `note ${n} \u{1f600} "quoted"\n`, [['t', 'zeolite']], now - n))
  for (const note of notes) await writer.publish(note)
  console.log('published 3 notes')

  while (live.length < notes.length) await new Promise(resolve => { arrived = resolve })
  assert.deepEqual(ids(live), ids(notes))
  assert(live.every(verifyEvent), 'what is served verifies')
  console.log('followed them live, in order')

  assert.deepEqual(ids(await query(reader, { authors: [pubkey], '#t': ['zeolite'], limit: 2 })), ids(notes.slice(0, 2)))
  assert.deepEqual(ids(await query(reader, { ids: [notes[2].id] }, { authors: [pubkey], limit: 1 })), [notes[0].id, notes[2].id])
  console.log('queried by author and tag, by id, and two filters at once')

  await writer.publish(sign(0, '{"name":"old"}', [], now - 9))
  const profile = sign(0, '{"name":"new"}', [], now - 8)
  await writer.publish(profile)
  assert.deepEqual(ids(await query(reader, { authors: [pubkey], kinds: [0] })), [profile.id])
  console.log('replaced a profile')

  await writer.publish(sign(5, '', [['e', notes[0].id]]))
  assert.deepEqual(ids(await query(reader, { authors: [pubkey], kinds: [1] })), ids(notes.slice(1)))
  await assert.rejects(writer.publish(notes[0]), /blocked: deleted/)
  console.log('deleted a note, which cannot come back')

  assert.equal(await reader.count([{ authors: [pubkey], kinds: [1] }], {}), 2)
  console.log('counted')

  const forged = { ...notes[1], content: 'forged' }
  await assert.rejects(writer.publish(forged), /invalid/)
  console.log('a forged event is refused')

  const stored = Array.from({ length: 100 }, (_, n) => sign(1, `note ${n}`, [], now - 100 - n))
  for (const event of stored) await writer.publish(event)
  const own = Array.from({ length: 40 }, (_, n) => sign(1, `own ${n}`, [], now - 90 - 3 * n))
  const all = { authors: [pubkey], kinds: [1] }
  for (const filter of [all, { ...all, since: now - 1000 }]) {
    const held = [...notes.slice(1), ...stored.filter((_, n) => n % 3 > 0), ...own]
    const found = await reconcile(reader, filter, held)
    assert.deepEqual(found.have, new Set(ids(own)))
    assert.deepEqual(found.need, new Set(ids(stored.filter((_, n) => n % 3 === 0))))
  }
  console.log('reconciled: what each side lacks is found exactly')
  writer.close()
  reader.close()
}

run().then(() => { clearTimeout(giveUp); console.log('8 passed, 0 failed') }, fail)
