// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// keyed is a header by which a receiver recognises what it has seen.
func keyed(key string) http.Header {
	h := http.Header{}
	h.Set("Idempotency-Key", `"`+key+`"`)
	h.Set(standardwebhooks.HeaderWebhookID, webhookID(key))
	return h
}

// webhookID is msg_ and the first half of the key's SHA-256 in hex: the same for a key on every attempt and from every host,
// and without the dots that part a signature's text.
func webhookID(key string) string { return "msg_" + digest(key)[:32] }

// ID is what people recognise a notification by, when it reached them twice: the digits of its webhook-id. Fewer could be made to
// agree with another notification's by whoever chooses assets and tasks.
func ID(key string) string { return digest(key)[:32] }

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
