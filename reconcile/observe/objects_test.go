package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestLearnObjects gives an observer readings of a whole kind and of single objects, in different orders of their beginnings.
func TestLearnObjects(t *testing.T) {
	const kind = guest.Kind("SecurityGroup")
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	reading := func(second int, part bool, asked, found string) cluster.Objects {
		objects := cluster.Objects{ReadAt: at(second), Part: part, Asked: strings.Fields(asked), ByID: make(map[string]cluster.Object)}
		for word := range strings.FieldsSeq(found) {
			id, version, _ := strings.Cut(word, "=")
			objects.ByID[id] = cluster.Object{ID: id, Digest: version}
		}
		return objects
	}
	whole := func(second int, found string) cluster.Objects { return reading(second, false, "a b", found) }
	part := func(second int, asked, found string) cluster.Objects { return reading(second, true, asked, found) }
	failed := cluster.Objects{Err: "timeout"}
	for name, test := range map[string]struct {
		read []cluster.Objects
		want string // the objects, and since when the whole kind is known
	}{
		"whole":                    {[]cluster.Objects{whole(1, "a=1 b=1")}, "a=1 b=1 @1"},
		"older_whole":              {[]cluster.Objects{whole(2, "a=2"), whole(1, "a=1 b=1")}, "a=2 @2"},
		"part_changes":             {[]cluster.Objects{whole(1, "a=1 b=1"), part(2, "a", "a=2")}, "a=2 b=1 @1"},
		"part_adds":                {[]cluster.Objects{whole(1, "a=1"), part(2, "b c", "b=2 c=2")}, "a=1 b=2 c=2 @1"},
		"part_removes":             {[]cluster.Objects{whole(1, "a=1 b=1"), part(2, "a", "")}, "b=1 @1"},
		"older_part":               {[]cluster.Objects{whole(2, "a=2 b=2"), part(1, "a", "a=1")}, "a=2 b=2 @2"},
		"parts_in_another_order":   {[]cluster.Objects{whole(1, "a=1"), part(3, "a", "a=3"), part(2, "a", "a=2")}, "a=3 @1"},
		"whole_began_before_part":  {[]cluster.Objects{whole(1, "a=1"), part(3, "a", "a=3"), whole(2, "a=2 b=2")}, "a=3 b=2 @2"},
		"whole_before_the_removal": {[]cluster.Objects{whole(1, "a=1"), part(3, "a", ""), whole(2, "a=2 b=2")}, "b=2 @2"},
		"whole_before_an_addition": {[]cluster.Objects{whole(1, "a=1"), part(3, "c", "c=3"), whole(2, "a=2")}, "a=2 c=3 @2"},
		"whole_began_after_part":   {[]cluster.Objects{whole(1, "a=1"), part(2, "a", "a=2"), whole(3, "a=3 b=3")}, "a=3 b=3 @3"},
		"part_before_any_whole":    {[]cluster.Objects{part(1, "a", "a=1")}, "@never"},
		"failure":                  {[]cluster.Objects{whole(1, "a=1"), failed}, "a=1 @1 timeout"},
		"part_after_a_failure":     {[]cluster.Objects{whole(1, "a=1"), failed, part(2, "a", "a=2")}, "a=2 @1 timeout"},
		"whole_after_a_failure":    {[]cluster.Objects{whole(1, "a=1"), failed, whole(2, "a=2")}, "a=2 @2"},
	} {
		t.Run(name, func(t *testing.T) {
			o := New(nil, time.Second, time.Minute)
			for _, objects := range test.read {
				o.LearnObjects(map[guest.Kind]cluster.Objects{kind: objects})
			}
			objects := o.Snapshot().Objects[kind]
			var words []string
			for _, id := range slices.Sorted(maps.Keys(objects.ByID)) {
				words = append(words, id+"="+objects.ByID[id].Digest)
				if !objects.Knows(id) && objects.Err == "" {
					t.Errorf("got %s unknown, want it known", id)
				}
			}
			since := "@never"
			if !objects.ReadAt.IsZero() {
				since = fmt.Sprint("@", objects.ReadAt.Unix())
			}
			if got := strings.TrimSpace(strings.Join(append(words, since, objects.Err), " ")); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
