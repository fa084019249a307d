package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// rolloutSpec is how a change reaches the guests of a class, or those that a rollout of the Cluster selects.
type rolloutSpec struct {
	canary       opt[int]
	canaryGuests textList
	unavailable  opt[guest.Share]
	perNode      opt[guest.Share]
	pause        opt[pause]
	live         opt[bool]
	failAfter    opt[time.Duration]
	onFailure    opt[string]
	health       rolloutHealth
}

func (r *rolloutSpec) fields() []field {
	return []field{
		{"canary", "", "Guests of the first batch. Default: 1.", integer(&r.canary, 1, 1000)},
		{"canaryGuests", "", "The guests of the first batch, as patterns of Kind/name. Excludes canary.", withExamples(list(&r.canaryGuests, guestLabel, ""), `["VirtualMachine/web-1"]`)},
		{"maxUnavailable", "", "How many guests may be changed or unavailable at the same time, as a number or as a share of all guests of the rollout, rounded down and at least 1. It is the size of a batch. Default: 10%.", scalarValue[guest.Share]{&r.unavailable, shareCodec{}}},
		{"maxUnavailablePerNode", "", "The same for the guests on one node. Default: no limit.", scalarValue[guest.Share]{&r.perNode, shareCodec{}}},
		{"pause", "", "How long to wait after a batch that is ready, or approval: a signed order continues. Default: 0s.", scalarValue[pause]{&r.pause, pauseCodec{}}},
		{"live", "", "Hold changes too that interrupt nothing. Default: false.", flag(&r.live)},
		{"failAfter", "", "How long a guest, or the query, may be in trouble before its batch has failed. Default: 10m.", duration(&r.failAfter, maxRolloutTime)},
		{"onFailure", "", "hold keeps the guests of later batches as they are until a signed order, or another revision. Default: hold.", choice(&r.onFailure, "hold")},
		{"health", "", "What must hold after each batch, beside spec.health of its guests.", withExamples(group(&r.health), `{"prometheus": {"server": "http://10.0.0.9:9090", "query": "min(up{job=\"web\"})"}}`)},
	}
}

// maxRolloutTime bounds the times of a rollout.
const maxRolloutTime = 7 * 24 * time.Hour

// rolloutHealth is what must hold after each batch.
type rolloutHealth struct{ prometheus opt[prometheusQuery] }

func (h *rolloutHealth) fields() []field {
	return []field{
		{"prometheus", "", "An instant query. It passes if its result has values and none of them is 0. The config of the agent's host must allow the address.", child(&h.prometheus)},
	}
}

type prometheusQuery struct{ server, query opt[string] }

func (q *prometheusQuery) fields() []field {
	return []field{
		{"server", "", "Address of the Prometheus.", text(&q.server, httpAddress)},
		{"query", "", "The query in PromQL.", withExamples(text(&q.query, promQL), `"min(up{job=\"web\"})"`)},
	}
}

var promQL = &textRule{want: "a query of at most 2048 bytes", accept: func(s string) bool { return s != "" && printable(s) }, maxBytes: 2048}

// settings returns the settings with their defaults, and reports what is missing.
func (r *rolloutSpec) settings(d decoder, name string) guest.Rollout {
	out := guest.Rollout{
		Name: name, Canary: 1, MaxUnavailable: guest.Share{Value: 10, Percent: true}, MaxPerNode: r.perNode.value,
		Pause: r.pause.value.after, Approval: r.pause.value.approval, Live: r.live.value, FailAfter: 10 * time.Minute,
		CanaryGuests: strings.Join(slices.Sorted(slices.Values(texts(r.canaryGuests))), " "),
	}
	if r.canary.set {
		out.Canary = r.canary.value
	}
	if r.unavailable.set {
		out.MaxUnavailable = r.unavailable.value
	}
	if r.failAfter.set {
		out.FailAfter = r.failAfter.value
	}
	if r.canary.set && r.canaryGuests.set {
		d.below("canaryGuests").problem(r.canaryGuests.at, "got canaryGuests beside canary, want one of the two", "")
	}
	if p := r.health.prometheus; p.set {
		out.Prometheus, out.Query = p.value.server.value, p.value.query.value
		if out.Prometheus == "" || out.Query == "" {
			d.path = p.path
			d.problem(p.at, "got a check without server or query, want both", "")
		}
	}
	return out
}

// namedRollout is a rollout of the Cluster.
type namedRollout struct {
	selects rolloutSelector
	rolloutSpec
}

func (r *namedRollout) fields() []field {
	return append([]field{
		{"select", "", "The guests of the rollout. All conditions must match.", withExamples(group(&r.selects), `{"classes": ["web"]}`, `{"labels": {"tier": "web"}}`)},
	}, r.rolloutSpec.fields()...)
}

// rolloutSelector selects guests.
type rolloutSelector struct {
	classes, guests textList
	labels          textMap
}

func (s *rolloutSelector) fields() []field {
	return []field{
		{"classes", "", "GuestClasses, one of which the guest has, also by another class or by a selector of the class.", list(&s.classes, className, "")},
		{"guests", "", "Patterns of Kind/name, one of which must match.", withExamples(list(&s.guests, guestLabel, ""), `["VirtualMachine/web-*"]`)},
		{"labels", "", "Labels that a guest must have, each with this value.", withExamples(labels(&s.labels), `{"tier": "web"}`)},
	}
}

func (s *rolloutSelector) isEmpty() bool {
	return len(s.classes.value)+len(s.guests.value)+len(s.labels) == 0
}

// matches reports whether the selector selects a guest with these classes. An empty one, which is a mistake, selects none.
func (s *rolloutSelector) matches(g Guest, classes []string) bool {
	if s.isEmpty() {
		return false
	}
	for name, want := range s.labels {
		if have, there := g.Labels[name]; !there || have != want.value {
			return false
		}
	}
	hasClass := func(name string) bool { return slices.Contains(classes, name) }
	hasName := func(pattern string) bool { return matchesName(pattern, g.Label()) }
	return (!s.classes.set || slices.ContainsFunc(texts(s.classes), hasClass)) && (!s.guests.set || slices.ContainsFunc(texts(s.guests), hasName))
}

// clusterRollout is a rollout of the Cluster, decoded.
type clusterRollout struct {
	settings guest.Rollout
	selects  rolloutSelector
	place    place
	used     bool // it selects a guest
}

// decodeRollouts checks the rollouts of the Cluster, and returns them by name.
func decodeRollouts(d decoder, list map[string]opt[namedRollout]) []*clusterRollout {
	var out []*clusterRollout
	for _, name := range slices.Sorted(maps.Keys(list)) {
		r := list[name]
		d.path = r.path
		if r.value.selects.isEmpty() {
			d.problem(r.at, "got a rollout that selects no guests, want select with classes, guests or labels", "")
		}
		out = append(out, &clusterRollout{settings: r.value.settings(d, name), selects: r.value.selects, place: r.place})
	}
	return out
}

// rolloutOf returns how a change reaches a guest, and where that is set: the rollout of its last class that has one, or else the one of the Cluster that
// selects the guest.
func (p *parser) rolloutOf(g Guest) (guest.Rollout, place) {
	all := p.classes.withBases(g.Classes)
	for _, name := range slices.Backward(all) {
		if r := p.classes[name].rollout; r != nil {
			return *r, p.classes[name].spec.rollout.place
		}
	}
	var found *clusterRollout
	for _, r := range p.rollouts {
		if !r.selects.matches(g, all) {
			continue
		}
		if r.used = true; found != nil {
			p.report.add(Problem{
				Origin: guest.Origin(r.place.at), Guest: kindCluster + "/" + p.set.Cluster.Name, Field: r.place.path,
				Message: "got " + g.Label() + ", which " + found.place.path + " selects too, want one rollout for a guest", Hint: "make one of the selectors narrower",
			})
			continue
		}
		found = r
	}
	if found == nil {
		return guest.Rollout{}, place{}
	}
	return found.settings, found.place
}

// checkRollouts reports rollouts with one name, since orders name them, and unknown classes.
func (p *parser) checkRollouts() {
	for _, r := range p.rollouts {
		p.classes.checkNames(decoder{report: p.report, label: kindCluster + "/" + p.set.Cluster.Name}, r.selects.classes)
		if c := p.classes[r.settings.Name]; c != nil && c.rollout != nil {
			p.report.add(Problem{
				Origin: guest.Origin(r.place.at), Guest: kindCluster + "/" + p.set.Cluster.Name, Field: r.place.path,
				Message: "got the name of a class that has a rollout of its own, want another name", Hint: "the class is at " + c.at.String(),
			})
		}
	}
}

// checkUnusedRollouts warns of rollouts of the Cluster that apply to no guest.
func (p *parser) checkUnusedRollouts(r *report) {
	for _, one := range p.rollouts {
		if !one.used {
			r.add(Problem{
				Origin: guest.Origin(one.place.at), Guest: kindCluster + "/" + p.set.Cluster.Name, Field: one.place.path,
				Message: "the rollout applies to no guest", Hint: "its selector matches none, or a class of each guest has a rollout of its own",
			})
		}
	}
}

// withBases returns classes and those that they build on, the bases of a class before it.
func (c classes) withBases(names []string) []string {
	var out []string
	seen := make(map[string]bool)
	var add func(name string)
	add = func(name string) {
		one := c[name]
		if one == nil || seen[name] {
			return
		}
		seen[name] = true
		for _, base := range texts(one.spec.class) {
			add(base)
		}
		out = append(out, name)
	}
	for _, name := range names {
		add(name)
	}
	return out
}

// shareCodec reads a number of guests, or a percentage.
type shareCodec struct{}

func (shareCodec) parse(n *tree.Node) (guest.Share, *rejection) {
	s, ok := guest.ParseShare(n.Text)
	if n.Kind != tree.Scalar || !ok {
		return guest.Share{}, wanted(n, "a number of guests, such as 2, or a share of them, such as 10%")
	}
	return s, nil
}

func (shareCodec) format(s guest.Share) string { return s.String() }

func (shareCodec) form() schema {
	return schema{Type: nullable("integer", "string"), Pattern: `^[1-9][0-9]*%?$`, Examples: textExamples("10%")}
}

// pause is what comes between two batches.
type pause struct {
	after    time.Duration
	approval bool
}

const pauseApproval = "approval"

type pauseCodec struct{}

func (pauseCodec) parse(n *tree.Node) (pause, *rejection) {
	if n.Kind == tree.Scalar && n.Text == pauseApproval {
		return pause{approval: true}, nil
	}
	after, wrong := durationCodec{maxRolloutTime}.parse(n)
	if wrong != nil {
		wrong.message = fmt.Sprintf("got %s, want approval, or a time span in whole seconds up to %s, such as 10m", n.Describe(), maxRolloutTime)
	}
	return pause{after: after}, wrong
}

func (pauseCodec) format(p pause) string {
	if p.approval {
		return pauseApproval
	}
	return strconv.Itoa(int(p.after / time.Second))
}

func (pauseCodec) form() schema {
	return schema{Type: nullable("string"), Pattern: `^(approval|([0-9.]+(h|m|s|ms))+)$`, Examples: textExamples("10m", pauseApproval)}
}
