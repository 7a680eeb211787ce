// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Package reach asks whether an asset answers on the network. Offline is an asset of which every address was asked for the whole
// time-out and none answered. What cannot be asked from here is an error, and never "offline".
package reach
