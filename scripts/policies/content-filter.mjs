#!/usr/bin/env node
// Drops notes that hold one of the words in $UNWANTED (separated by commas), without telling their
// senders.
import readline from 'node:readline';

const unwanted = (process.env.UNWANTED ?? '').split(',').filter(Boolean);

readline.createInterface({ input: process.stdin, terminal: false }).on('line', (line) => {
  const { type, event } = JSON.parse(line);
  if (type !== 'new') {
    console.error('unexpected type');
    return;
  }
  const isUnwanted = unwanted.some((word) => event.content.includes(word));
  console.log(JSON.stringify({ id: event.id, action: isUnwanted ? 'shadowReject' : 'accept' }));
});
