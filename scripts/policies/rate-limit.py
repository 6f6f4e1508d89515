#!/usr/bin/env python3
"""Takes a few events a minute from each client address: $EVENTS_PER_MINUTE, 30 by default."""

import collections
import json
import os
import sys

PER_MINUTE = int(os.environ.get("EVENTS_PER_MINUTE", "30"))
recent = collections.defaultdict(collections.deque)

for line in sys.stdin:
    question = json.loads(line)
    if question["type"] != "new":
        print("unexpected type", file=sys.stderr)
        continue
    answer = {"id": question["event"]["id"], "action": "accept"}
    if question["sourceType"] in ("IP4", "IP6"):
        times = recent[question["sourceInfo"]]
        now = question["receivedAt"]
        while times and times[0] <= now - 60:
            times.popleft()
        if len(times) >= PER_MINUTE:
            answer.update(action="reject", msg="rate-limited: slow down")
        else:
            times.append(now)
    print(json.dumps(answer), flush=True)
