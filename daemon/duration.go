// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import "time"

// Duration is a time.Duration that stands in the file as a string with a unit.
type Duration time.Duration
