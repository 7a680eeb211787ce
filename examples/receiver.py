#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
"""Take Picket's webhooks and handle each notification once: receiver.py ADDRESS SECRET_FILE LEDGER"""

import base64, hashlib, hmac, http.server, json, sqlite3, sys, time

address, secret_file, ledger = sys.argv[1:]
with open(secret_file) as f:
    secret = base64.b64decode(f.read().strip().removeprefix("whsec_"))
db = sqlite3.connect(ledger)
db.execute("CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY, title TEXT, at REAL)")


def signed(headers, body):
    at = headers["webhook-timestamp"]
    text = b".".join([headers["webhook-id"].encode(), at.encode(), body])
    want = b"v1," + base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest())
    signatures = headers["webhook-signature"].encode().split()
    return abs(time.time() - int(at)) < 300 and any(hmac.compare_digest(want, s) for s in signatures)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not signed(self.headers, body):
            return self.send_error(400, "not a signed notification")
        with db:  # one transaction: what is done with the message, and the memory of its id
            title = json.loads(body)["data"]["title"]
            db.execute("INSERT OR IGNORE INTO handled VALUES (?, ?, ?)", (self.headers["webhook-id"], title, time.time()))
        self.send_response(204)  # also for what was handled before: it must not come again
        self.end_headers()


host, _, port = address.rpartition(":")
server = http.server.HTTPServer((host, int(port)), Receiver)
print(f"http://{host}:{server.server_port}", flush=True)
server.serve_forever()
