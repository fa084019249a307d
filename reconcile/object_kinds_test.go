package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest"
)

// kindOf returns the kind of the object, from its label.
func (c objectCase) kindOf() guest.Kind {
	name, _, _ := strings.Cut(c.label, "/")
	return guest.Kind(name)
}

// TestEveryKindHasAnObjectCase makes sure that the tests with forEachObject cover a new kind: that a converged cluster gets no write, that an unused kind adds no
// call, that a call without a reply and a crash at each call have one effect, and that an adopted object stays as it is.
func TestEveryKindHasAnObjectCase(t *testing.T) {
	t.Parallel()
	var covered []guest.Kind
	for _, c := range objectCases {
		covered = append(covered, c.kindOf())
	}
	for _, k := range kinds.All() {
		if !slices.Contains(covered, k.Name) {
			t.Errorf("got no object of kind %s in objectCases, want one", k.Name)
		}
	}
}

// TestAdoptedObjectStaysAsItIs adopts an object of each kind with the manifest that adopt writes for it: one call writes the marker, nothing else changes, and
// the plan is empty afterwards.
func TestAdoptedObjectStaysAsItIs(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(t *testing.T, l *lab, c objectCase) {
		c.foreign(l.sim)
		before, _ := c.live(l.sim)
		k, known := kinds.Of(c.kindOf())
		if !known {
			t.Fatalf("got the unknown kind %s", c.kindOf())
		}
		_, id, _ := strings.Cut(c.label, "/")
		objects, err := l.cluster.Objects(t.Context(), k.Name, []string{id})
		l.ok(err)
		adopted, err := manifest.AdoptObject(k, objects[id], "home", id)
		l.ok(err)
		if strings.Contains(string(adopted.Data), "Not described") {
			t.Errorf("got a manifest that leaves out keys, want all of them:\n%s", adopted.Data)
		}
		l.files["object.yaml"] = string(adopted.Data)
		l.push("adopt it", alice)
		l.sim.ResetCounters()
		defer l.start()()
		l.converge()
		l.wantLive(c, before, true)
		if l.markerOf(c) == "" {
			t.Error("got no record of the object, want it owned")
		}
		writes := 0
		for path, methods := range l.sim.Counters().Objects {
			if !strings.HasPrefix(path, "/pools/gitops-agent") {
				for _, n := range methods {
					writes += n
				}
			}
		}
		if writes != 1 {
			t.Errorf("got %d writes, want the one of the marker: %v", writes, l.sim.Counters().Objects)
		}
		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if counters := l.sim.Counters(); counters.Writes != 0 {
			t.Errorf("got %d writes in ten minutes after the adoption, want none: %v", counters.Writes, counters.Routes)
		}
	})
}
