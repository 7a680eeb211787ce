// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"encoding/base64"
	"errors"
	"strings"
)

func parseSecret(s string) ([]byte, error) {
	b, ok := strings.CutPrefix(s, "whsec_")
	key, err := base64.StdEncoding.DecodeString(b)
	if !ok || err != nil {
		return nil, errors.New("is not a secret: write whsec_ and base64")
	}
	return key, nil
}
