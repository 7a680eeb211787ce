// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

// TestListingKnowsTheStates: what may be asked for is what the flow can reach, and what it cannot is refused with the list.
func TestListingKnowsTheStates(t *testing.T) {
	t.Parallel()
	flow, err := store.LookupFlow("")
	if err != nil {
		t.Fatal(err)
	}
	reached := append(slices.Clone(flow.Terminal), flow.Initial, store.Notified) // to which delivery leads, not an agent
	for i := 0; i < len(reached); i++ {
		for _, next := range flow.Next(reached[i]) {
			for _, s := range next.States {
				if !slices.Contains(reached, s) {
					reached = append(reached, s)
				}
			}
		}
	}
	field, _ := reflect.TypeFor[ticketsQuery]().FieldByName("State")
	known := strings.Split(field.Tag.Get("enum"), ",")
	for _, s := range reached {
		if !slices.Contains(known, string(s)) {
			t.Errorf("%s cannot be asked for", s)
		}
	}
	if len(known) != len(reached) {
		t.Errorf("%q may be asked for, the flow reaches %q", known, reached)
	}

	h := serve(t, Config{})
	p := h.refused(h.do("GET", "/v1/tickets?state=NOPE", ""), client.Invalid)
	if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "INIT, ASSET_ONLINE") {
		t.Errorf("got %+v", p)
	}
}
