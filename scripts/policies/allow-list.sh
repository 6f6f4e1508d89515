#!/bin/sh
# Takes events of the authors listed in $ALLOWED (public keys in hex, separated by spaces) and of
# nobody else. A policy for zeolite-relay, and for any relay that speaks the same line protocol.
while IFS= read -r line; do
  # The event's own members come before what the relay adds, each once: no string inside an event
  # can hold an unescaped quote.
  id=$(printf '%s' "$line" | sed -n 's/.*"event":{"id":"\([0-9a-f]\{64\}\)".*/\1/p')
  author=$(printf '%s' "$line" | sed -n 's/.*"event":{"id":"[0-9a-f]*","pubkey":"\([0-9a-f]\{64\}\)".*/\1/p')
  case " $ALLOWED " in
    *" $author "*) printf '{"id":"%s","action":"accept"}\n' "$id" ;;
    *) printf '{"id":"%s","action":"reject","msg":"blocked: not on the allow list"}\n' "$id" ;;
  esac
done
