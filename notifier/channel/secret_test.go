// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func TestParseSecret(t *testing.T) {
	t.Parallel()
	key := []byte("\xfb\xff0123456789abcdef01234567")
	good := base64.StdEncoding.EncodeToString(key)
	for _, s := range []string{"whsec_" + good, "whsec_" + good + "\n"} {
		if got, err := parseSecret([]byte(s)); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q, %v", got, err)
		}
	}
	for s, says := range map[string]string{
		"":                       "empty",
		"\n":                     "empty",
		"whsec_":                 "nothing after",
		good:                     "does not start with whsec_",
		"WHSEC_" + good:          "does not start with whsec_",
		"whsk_" + good:           "asymmetric",
		"whsec_" + good + "\n\n": "another line end",
		"whsec_" + good + "\r\n": "another line end",
		" whsec_" + good:         "space",
		"whsec_" + good + " ":    "space",
		"whsec_" + base64.URLEncoding.EncodeToString(key): "base64url",
		"whsec_" + strings.TrimRight(good, "="):           "padding",
		"whsec_" + good[:8] + "!" + good[9:]:              "characters that base64 has not",
		"whsec_0f3a9b":                                    "padding",
	} {
		_, err := parseSecret([]byte(s))
		if err == nil || !strings.Contains(err.Error(), says) || len(s) > 8 && strings.Contains(err.Error(), strings.TrimSpace(s)[6:]) {
			t.Errorf("%q: %v, want %q", s, err, says)
		}
	}
}
