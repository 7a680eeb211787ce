// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package delivery

import "context"

// Loops are what runs for as long as the daemon does; each ends with its context.
func (c *Courier) Loops() []func(context.Context) {
	return []func(context.Context){c.stagedLoop, c.heedLoop, c.takeOverLoop, c.walkLoop}
}
