//go:build integration

package crash

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kinds"
)

// thingKind is a kind of object that is no guest.
type thingKind struct {
	kind       string                   // in manifests
	collection string                   // the path of its list; "" for an Image, which is a file
	idField    string                   // of a row of the list
	idOf       func(number int) string  // nil is the kind and the number
	prepare    func(w *world, o *thing) // makes what the object needs; nil if that is nothing
	spec       func(o *thing) []string  // lines of the manifest; the text is in the comment
	key, want  string                   // a key of a row of the list, and what it contains; "" is none
	hand       string                   // parameters with which a person changes the key
	renames    string                   // the parameter that names the object in a call that changes the comment, which is a POST on the list; "" if that is a PUT
	rules      bool                     // the call that makes the object has the path of those that add its rules
}

var thingKinds = []thingKind{
	{
		kind: "Pool", collection: "/pools", idField: "poolid",
		spec: func(o *thing) []string { return []string{o.comment()} },
	},
	{
		kind: "BackupJob", collection: "/cluster/backup", idField: "id",
		spec: func(o *thing) []string { return []string{o.comment(), "schedule: daily", "guests: {all: true}"} },
		key:  "schedule", want: "daily", hand: "&schedule=hourly",
	},
	{
		kind: "Alias", collection: "/cluster/firewall/aliases", idField: "name",
		spec: func(o *thing) []string { return []string{o.comment(), "cidr: 10.9.0.0/24"} },
		key:  "cidr", want: "10.9.0.0/24", hand: "&cidr=10.8.0.0/24",
	},
	{
		kind: "IPSet", collection: "/cluster/firewall/ipset", idField: "name", renames: "name",
		spec: func(o *thing) []string { return []string{o.comment(), "entries: [{cidr: 10.9.0.0/24}]"} },
	},
	{
		kind: "SecurityGroup", collection: "/cluster/firewall/groups", idField: "group", renames: "group", rules: true,
		spec: func(o *thing) []string {
			return []string{o.comment(), `rules: [{type: in, action: ACCEPT, protocol: tcp, port: "22"}]`}
		},
	},
	{
		kind: "Replication", collection: "/cluster/replication", idField: "id",
		idOf: func(number int) string { return fmt.Sprintf("105-%d", number) },
		spec: func(o *thing) []string { return []string{o.comment(), "target: pve2", `schedule: "*/30"`} },
		key:  "schedule", want: "*/30", hand: "&schedule=*/5",
	},
	{
		kind: "AffinityRule", collection: "/cluster/ha/rules", idField: "rule",
		prepare: func(w *world, o *thing) { w.addHAGuest(o.number) },
		spec: func(o *thing) []string {
			return []string{o.comment(), "type: node", fmt.Sprintf("guests: [vm:%d]", haGuest(o.number)), `nodes: ["pve1:2"]`}
		},
		key: "nodes", want: "pve1:2", hand: "&type=node-affinity&nodes=pve1:3",
	},
	{
		kind: "Image", prepare: (*world).publish,
		spec: func(o *thing) []string {
			lines := []string{"url: " + o.url(), "checksum: sha256:" + o.checksum(), "storage: local", "nodes: [pve1]", "content: import"}
			if o.prunes() {
				lines = append(lines, "prune: true")
			}
			return lines
		},
	},
}

// thingChanges are what a person may do with these objects. Each returns the object, nil if the world has none for it.
var thingChanges = map[string]func(w *world) *thing{
	"create":       (*world).addThing,
	"edit":         (*world).editThing,
	"edit by hand": (*world).editThingByHand,
	"remove":       (*world).removeThing,
}

// thing is an object that is no guest, which manifests name, and what must have happened to it.
type thing struct {
	thingKind
	id, text string
	number   int                       // of the object in the world
	destroy  string                    // lifecycle.destroy
	wanted   bool                      // a manifest names it
	changed  bool                      // in this round
	approve  bool                      // what the agent holds for it is approved
	calls    map[string]map[string]int // the effects that must have happened, by path and method
}

func (o *thing) file() string { return o.kindAndName("-") + ".yaml" }

func (o *thing) kindAndName(separator string) string { return o.kind + separator + o.id }

func (o *thing) comment() string { return fmt.Sprintf("comment: %q", o.text) }

func (o *thing) manifest() string {
	lines := o.spec(o)
	if !o.isFile() {
		lines = append(lines, fmt.Sprintf("lifecycle: {destroy: %s}", o.destroy))
	}
	return manifest(o.kind, o.id, lines...)
}

// isFile reports whether the object is an Image: another text is another file. The former file stays unless the Image prunes.
func (o *thing) isFile() bool { return o.collection == "" }

// prunes reports whether former files of an Image are deleted.
func (o *thing) prunes() bool { return o.destroy == "allow" }

// path returns under which path the simulator counts the effects on the object.
func (o *thing) path() string {
	if o.isFile() {
		return "/storage/" + o.volume()
	}
	return o.collection + "/" + o.id
}

// must says that calls with the methods must have an effect on the object.
func (o *thing) must(methods ...string) {
	if o.calls[o.path()] == nil {
		o.calls[o.path()] = map[string]int{}
	}
	for _, method := range methods {
		o.calls[o.path()][method]++
	}
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

// addThing adds an object. The kinds take turns, so that a few worlds have all of them.
func (w *world) addThing() *thing {
	w.names++
	o := &thing{
		thingKind: thingKinds[(int(w.seed)+len(w.things))%len(thingKinds)], number: w.names, text: w.text(), destroy: []string{"allow", "approve"}[w.rng.IntN(2)], wanted: true, changed: true,
		calls: map[string]map[string]int{},
	}
	o.id = fmt.Sprintf("%s-%d", strings.ToLower(o.kind), o.number)
	if o.idOf != nil {
		o.id = o.idOf(o.number)
	}
	if o.prepare != nil {
		o.prepare(w, o)
	}
	if o.must(http.MethodPost); o.rules {
		o.must(http.MethodPost) // its rule
	}
	w.things = append(w.things, o)
	return o
}

func (w *world) editThing() *thing {
	o := w.pickThing()
	if o == nil {
		return nil
	}
	if o.isFile() {
		w.prune(o)
	}
	o.text = w.text()
	if o.isFile() {
		w.publish(o)
		o.must(http.MethodPost)
		return o
	}
	o.must(http.MethodPut)
	return o
}

// editThingByHand changes the comment of an object but for the marker, and another key, or removes the file of an Image. The agent notices it within a minute.
func (w *world) editThingByHand() *thing {
	o := w.pickThing()
	if o == nil {
		return nil
	}
	if o.isFile() {
		w.post("/announce", map[string]any{"volume": o.volume()})
		w.personCalls(http.MethodDelete, "/nodes/pve1/storage/local/content/"+o.volume(), "")
		o.must(http.MethodDelete, http.MethodPost) // by the person, and by the agent
		return o
	}
	row := w.liveThing(o)
	comment, _ := row["comment"].(string)
	params := "comment=" + url.QueryEscape("by hand"+comment[strings.LastIndex(comment, " "):])
	if o.renames == "" {
		w.personCalls(http.MethodPut, o.path(), params+o.hand)
	} else {
		w.person(o.collection, params+fmt.Sprintf("&rename=%s&%s=%s", o.id, o.renames, o.id))
	}
	o.must(http.MethodPut, http.MethodPut) // by the person, and by the agent
	return o
}

func (w *world) removeThing() *thing {
	o := w.pickThing()
	if o == nil {
		return nil
	}
	o.wanted = false
	if o.isFile() {
		w.prune(o)
	} else {
		o.approve = o.destroy == "approve"
		o.must(http.MethodDelete)
	}
	return o
}

// liveThing returns the row of an object in the list of its kind, nil if there is none.
func (w *world) liveThing(o *thing) map[string]any {
	w.Helper()
	var reply struct{ Data []map[string]any }
	w.call(http.MethodGet, o.collection, "", &reply)
	i := slices.IndexFunc(reply.Data, func(row map[string]any) bool { return row[o.idField] == o.id })
	if i < 0 {
		return nil
	}
	return reply.Data[i]
}

// compareThings returns the differences between the objects that must exist and those that exist, and between the calls that must have had an effect on them and
// those that had one.
func (w *world) compareThings() (differences []string, more bool) {
	w.Helper()
	var counters struct{ Objects map[string]map[string]int }
	w.get("/counters", &counters)
	files := w.files()
	for _, o := range w.things {
		if difference := w.unlike(o, files); difference != "" {
			differences = append(differences, o.kindAndName(" ")+": "+difference)
		}
		for path, calls := range o.calls {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
				got, want := counters.Objects[path][method], calls[method]
				if o.rules && method == http.MethodPost && got > want {
					continue // a call that acted late has added a rule once more, and the agent has removed it
				}
				if got != want {
					differences = append(differences, fmt.Sprintf("%s: got %d effects of %s %s, want %d", o.kindAndName(" "), got, method, path, want))
				}
				more = more || got > want
			}
		}
	}
	return differences, more
}

// unlike returns how an object differs from what it must be, "" if it does not.
func (w *world) unlike(o *thing, files []string) string {
	w.Helper()
	if o.isFile() {
		if must := o.wanted || !o.prunes(); slices.Contains(files, o.volume()) != must {
			return fmt.Sprintf("got the file %s: %t, want it: %t", o.volume(), !must, must)
		}
		return ""
	}
	row := w.liveThing(o)
	switch {
	case (row != nil) != o.wanted:
		return fmt.Sprintf("got one: %t, want one: %t", row != nil, o.wanted)
	case row == nil:
		return ""
	case !strings.HasPrefix(fmt.Sprint(row["comment"]), o.text+" "):
		return fmt.Sprintf("got the comment %q, want one with %q", row["comment"], o.text)
	case o.key != "" && fmt.Sprint(row[o.key]) != o.want:
		return fmt.Sprintf("got %s %v, want %s", o.key, row[o.key], o.want)
	}
	return ""
}

// TestEveryKindIsInTheHarness finds a kind that thingKinds lacks.
func TestEveryKindIsInTheHarness(t *testing.T) {
	wanted := []guest.Kind{image.Kind}
	for _, k := range kinds.All() {
		wanted = append(wanted, k.Name)
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(thingKinds, func(k thingKind) bool { return k.kind == string(name) }) {
			t.Errorf("got no %s in thingKinds, want one", name)
		}
	}
}
