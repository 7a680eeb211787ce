// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
)

const secretPrefix = "whsec_"

// parseSecret reads a Standard Webhooks secret, whsec_ and standard base64, as it stands in a file: one final newline is cut.
// Its error says which other form was found, and never holds the secret.
func parseSecret(b []byte) ([]byte, error) {
	s := string(bytes.TrimSuffix(b, []byte("\n")))
	refuse := func(found string) ([]byte, error) {
		return nil, errors.New("a secret must be whsec_ followed by standard base64, on one line; " + found)
	}
	switch rest, ok := strings.CutPrefix(s, secretPrefix); {
	case s == "":
		return refuse("this one is empty")
	case strings.ContainsAny(s, "\r\n"):
		return refuse("this one has another line end")
	case strings.TrimSpace(s) != s:
		return refuse("this one has a space at its start or end")
	case !ok && strings.HasPrefix(s, "whsk_"), !ok && strings.HasPrefix(s, "whpk_"):
		return refuse("this one is a key of the asymmetric kind")
	case !ok:
		return refuse("this one does not start with whsec_")
	case rest == "":
		return refuse("this one has nothing after whsec_")
	case strings.ContainsAny(rest, "-_"):
		return refuse("this one is in base64url, with - and _ instead of + and /")
	default:
		key, err := base64.StdEncoding.Strict().DecodeString(rest)
		if err != nil && len(strings.TrimRight(rest, "="))%4 != 0 && len(rest)%4 != 0 {
			return refuse("this one lacks characters or its padding with =")
		}
		if err != nil {
			return refuse("this one has characters that base64 has not")
		}
		return key, nil
	}
}
