// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"fmt"
	"testing"

	"github.com/picketd/picket/engine/redistest"
)

// TestAHintIsOnTheMasterOfItsAsset, as long as masters have slots in a row and share them evenly.
func TestAHintIsOnTheMasterOfItsAsset(t *testing.T) {
	t.Parallel()
	keys := Keys{"picket"}
	client := redistest.Start(t, "--cluster-enabled", "yes").Client()
	slot := func(key string) int {
		n, err := client.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	var shards [HintShards]int // the slot of each
	for shard := range shards {
		shards[shard] = slot(keys.Undelivered("d", shard))
		if third := (shards[shard]*HintShards - shard*slots) * 3 / slots; third != 1 {
			t.Errorf("the slot of shard %d is %d, which is not in the middle of its part", shard, shards[shard])
		}
	}
	for i := range 500 {
		a := Asset(fmt.Sprintf("host %d.example.com", i))
		is := slot(keys.Lock(a))
		if slotOf(a.Enc()) != is {
			t.Fatalf("the slot of %s is %d, not %d", a, is, slotOf(a.Enc()))
		}
		for _, masters := range []int{1, 2, 3, 4, 6, 12} {
			if its, hint := is*masters/slots, shards[HintShard(a)]*masters/slots; its != hint {
				t.Errorf("of %d masters %s is on %d, and its hint on %d", masters, a, its, hint)
			}
		}
	}
}
