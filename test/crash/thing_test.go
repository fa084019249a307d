//go:build integration

package crash

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// thingKind is a kind of object that is no guest.
type thingKind struct {
	kind       string                     // in manifests
	collection string                     // the path of its list
	idField    string                     // of a row of the list
	spec       func(text string) []string // lines of the manifest; the text is in the comment
}

var thingKinds = []thingKind{
	{"Pool", "/pools", "poolid", func(text string) []string { return []string{fmt.Sprintf("comment: %q", text)} }},
	{"BackupJob", "/cluster/backup", "id", func(text string) []string {
		return []string{fmt.Sprintf("comment: %q", text), "schedule: daily", "guests: {all: true}"}
	}},
	{"Alias", "/cluster/firewall/aliases", "name", func(text string) []string { return []string{fmt.Sprintf("comment: %q", text), "cidr: 10.9.0.0/24"} }},
}

// thingChanges are what a person may do with these objects. Each returns what it did, or "" if the world has no object for it.
var thingChanges = map[string]func(w *world) string{
	"object":         (*world).addThing,
	"text of object": (*world).editThing,
	"object removed": (*world).removeThing,
}

// thing is an object that is no guest, which manifests name, and what must have happened to it.
type thing struct {
	thingKind
	id, text string
	destroy  string // lifecycle.destroy
	wanted   bool   // a manifest names it
	changed  bool   // in this round
	approve  bool   // what the agent holds for it is approved
	calls    map[string]int
}

func (o *thing) file() string { return o.kindAndName("-") + ".yaml" }

func (o *thing) kindAndName(separator string) string { return o.kind + separator + o.id }

func (o *thing) manifest() string {
	return manifest(o.kind, o.id, append(o.spec(o.text), fmt.Sprintf("lifecycle: {destroy: %s}", o.destroy))...)
}

// pickThing returns a random object that manifests name, or nil. An object has one change in a round.
func (w *world) pickThing() *thing {
	var fit []*thing
	for _, o := range w.things {
		if o.wanted && !o.changed {
			fit = append(fit, o)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	o := fit[w.rng.IntN(len(fit))]
	o.changed = true
	return o
}

func (w *world) addThing() string {
	o := &thing{
		thingKind: thingKinds[w.rng.IntN(len(thingKinds))], text: w.text(), destroy: []string{"allow", "approve"}[w.rng.IntN(2)], wanted: true, changed: true,
		calls: map[string]int{http.MethodPost: 1},
	}
	o.id = strings.ToLower(o.kind) + strings.TrimPrefix(w.name(), "guest")
	w.things = append(w.things, o)
	return "create " + o.kindAndName(" ")
}

func (w *world) editThing() string {
	o := w.pickThing()
	if o == nil {
		return ""
	}
	o.text = w.text()
	return "comment of " + o.kindAndName(" ")
}

func (w *world) removeThing() string {
	o := w.pickThing()
	if o == nil {
		return ""
	}
	o.wanted, o.approve = false, o.destroy == "approve"
	o.calls[http.MethodDelete]++
	return "remove " + o.kindAndName(" ")
}

// compareThings returns the differences between the objects that must exist and those that exist, and between the calls that create and remove them and those
// that had an effect.
func (w *world) compareThings() (differences []string, more bool) {
	w.Helper()
	var counters struct{ Objects map[string]map[string]int }
	w.get("/counters", &counters)
	lists := map[string][]map[string]any{}
	for _, o := range w.things {
		rows, read := lists[o.collection]
		if !read {
			var reply struct{ Data []map[string]any }
			w.call(http.MethodGet, o.collection, "", &reply)
			rows = reply.Data
			lists[o.collection] = rows
		}
		i := slices.IndexFunc(rows, func(row map[string]any) bool { return row[o.idField] == o.id })
		switch {
		case (i >= 0) != o.wanted:
			differences = append(differences, fmt.Sprintf("%s: got one: %t, want one: %t", o.kindAndName(" "), i >= 0, o.wanted))
		case i >= 0 && !strings.Contains(fmt.Sprint(rows[i]["comment"]), o.text):
			differences = append(differences, fmt.Sprintf("%s: got the comment %q, want one with %q", o.kindAndName(" "), rows[i]["comment"], o.text))
		}
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			got, want := counters.Objects[o.collection+"/"+o.id][method], o.calls[method]
			if got != want {
				differences = append(differences, fmt.Sprintf("%s: got %d effects of %s, want %d", o.kindAndName(" "), got, method, want))
			}
			more = more || got > want
		}
	}
	return differences, more
}
