// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

// A Cluster's masters have slots in a row, as a rule. So hints are in a set for each twelfth of the slots, which is on the master of the
// assets that it is about: a node that hangs delays what is about its own assets. Twelve, because one, two, three, four, six and twelve
// masters that share the slots evenly part them there.
const (
	// HintShards is in how many sets the hints of a daemon are.
	HintShards = 12

	slots = 16384 // of every Cluster
)

// shardTags are the hash tags of the sets. Each is in the middle of its twelfth, where masters' shares seldom end.
var shardTags = [HintShards]string{"18", "69", "54", "19", "68", "55", "111", "9", "49", "110", "8", "48"}

// HintShard is in which of the sets an asset's tickets are hinted.
func HintShard(a Asset) int { return slotOf(a.Enc()) * HintShards / slots }

// slotOf is the slot of keys with this hash tag: CRC-16/XMODEM, https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec.
func slotOf(tag string) int {
	crc := uint16(0)
	for _, b := range []byte(tag) {
		crc ^= uint16(b) << 8
		for range 8 {
			high := crc&0x8000 != 0
			if crc <<= 1; high {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slots
}
