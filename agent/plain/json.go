// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package plain

import (
	"bytes"
	"encoding/json"
)

// JSON encodes v, with the characters that HTML knows as they are: facts come back to the letter.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
