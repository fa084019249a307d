package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"gitops-agent/internal/sandbox"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// printer prints the states of a session. With json, only documents go to out, and no text.
type printer struct {
	out   io.Writer
	notes io.Writer // what the reader should know although it is no result
	json  bool
}

// document is one state of the session as JSON.
type document struct {
	SchemaVersion int             `json:"schemaVersion"`
	State         string          `json:"state"` // planned, converged, refused or pending
	Commit        string          `json:"commit,omitempty"`
	StatusPage    string          `json:"statusPage,omitempty"`
	Problems      []string        `json:"problems,omitempty"` // of manifests that cannot be parsed
	Report        *report.Report  `json:"report,omitempty"`
	Assumed       *assumedCluster `json:"assumed,omitempty"`
}

// assumedCluster is what the sandbox made because manifests name it.
type assumedCluster struct {
	Nodes     []string `json:"nodes"`
	Storages  []string `json:"storages"`
	Bridges   []string `json:"bridges"`
	Pools     []string `json:"pools,omitempty"`
	Volumes   []string `json:"volumes,omitempty"`
	Templates []string `json:"templates,omitempty"`
	Images    []string `json:"images,omitempty"` // addresses of the files of Images
	Guests    []string `json:"guests,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	Missing   []string `json:"missing,omitempty"`
	Firewall  bool     `json:"firewall,omitempty"` // the firewall of the datacenter is on
}

func (p printer) document(d document) {
	if !p.json {
		return
	}
	d.SchemaVersion = 1
	body, _ := json.Marshal(d) // plain values
	_, _ = fmt.Fprintf(p.out, "%s\n", body)
}

func (p printer) line(format string, args ...any) {
	if !p.json {
		p.write(p.out, fmt.Sprintf(format, args...))
	}
}

// note prints to the error output, also with json.
func (p printer) note(format string, args ...any) {
	p.write(p.notes, "sandbox: note: "+fmt.Sprintf(format, args...))
}

// write prints text in which the terminal finds no control characters.
func (p printer) write(w io.Writer, text string) {
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return '�'
		}
		return r
	}, text)
	_, _ = fmt.Fprintln(w, strings.TrimRight(clean, " "))
}

// refusedManifests prints every problem of manifests.
func (p printer) refusedManifests(err error) {
	problems := strings.Split(err.Error(), "\n")
	p.document(document{State: "refused", Problems: problems})
	for _, problem := range problems {
		p.line("%s", problem)
	}
}

// world prints the cluster that was assumed, and what the reader should know about the files.
func (p printer) world(s *session, content snapshot, secrets []string) {
	w := &s.world
	switch changed := s.src.uncommitted(s.env.Context()); {
	case s.revision != "":
		p.line("Manifests: %s at %s", s.path, s.revision)
	case changed > 0:
		p.line("Manifests: %s as it is now, with %s that are not committed (--revision HEAD leaves them out)", s.path, count(changed, "change"))
	default:
		p.line("Manifests: %s as it is now", s.path)
	}
	if content.left > 0 {
		p.note("%s larger than 1 MiB not copied", count(content.left, "file"))
	}
	var templates []string
	for _, t := range w.templates {
		templates = append(templates, fmt.Sprintf("%s (%d)", t.name, t.vmid))
	}
	var images []string
	for _, d := range w.images {
		images = append(images, d.URL)
	}
	var existing []string
	for i := range w.existing {
		existing = append(existing, fmt.Sprintf("%s (%d)", w.existing[i].Label(), w.existing[i].VMID))
	}
	p.line("Assumed, because the manifests name it:")
	for _, row := range []struct {
		name  string
		names []string
	}{
		{"nodes", w.nodes},
		{"storages", w.storages},
		{"bridges", w.bridges},
		{"pools", w.pools},
		{"volumes", w.volumes},
		{"templates", templates},
		{"files of Images, with the checksums of the manifests", images},
		{"guests that exist", existing},
		{"secrets, all with an invented password", secrets},
	} {
		if len(row.names) > 0 {
			p.line("  %s: %s", row.name, strings.Join(row.names, ", "))
		}
	}
	if w.firewall {
		p.line("  the firewall of the datacenter, which is on")
	}
	if len(w.assumed) > 0 && !p.json {
		p.note("no source creates %s, so the manifests describe guests that exist; they exist here as described (--existing describes them otherwise)", strings.Join(w.assumed, ", "))
	}
	if len(w.unknown) > 0 {
		p.note("the simulated cluster cannot have: %s", strings.Join(w.unknown, ", "))
	}
	p.document(document{State: "assumed", Assumed: &assumedCluster{w.nodes, w.storages, w.bridges, w.pools, w.volumes, templates, images, existing, secrets, w.unknown, w.firewall}})
}

// plan prints what the agent would do first.
func (p printer) plan(r report.Report) {
	p.document(document{State: "planned", Report: &r})
	p.line("")
	p.line("Plan:")
	for _, g := range r.Guests {
		p.line("  %s: %s", label(g), planOf(g))
		for _, c := range g.Changes {
			if g.Health == report.Missing {
				p.line("      %s: %s", c.Key, c.To)
			} else {
				p.line("      %s: %s -> %s", c.Key, cmp.Or(c.From, "unset"), cmp.Or(c.To, "unset"))
			}
		}
		p.conditions(g)
	}
}

// planOf describes in a word what the agent would do with a guest.
func planOf(g report.Guest) string {
	switch {
	case g.Sync == report.Synced:
		return inSync(g)
	case g.Health == report.Missing:
		return "create"
	case slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return c.Type == plan.Blocked }):
		return "waits"
	case len(g.Changes) == 0:
		return "adopt"
	default:
		return "change"
	}
}

// inSync describes a guest that is in sync, with what it lacks nevertheless.
func inSync(g report.Guest) string { return strings.TrimSpace("in sync " + g.Except().String()) }

func (p printer) conditions(g report.Guest) {
	for _, c := range g.Conditions {
		if c.Type == plan.Held && strings.Contains(c.Message, string(reason.StopDryRun)) || c.Type == plan.Drifted || c.Type == plan.Pending {
			continue // the plan shows it
		}
		p.line("      %s: %s", c.Type, c.Message)
		if c.Hint != "" {
			p.line("        %s", c.Hint)
		}
	}
}

func (p printer) addresses(e *sandbox.Environment, controls string) {
	p.line("")
	p.line("Status page: http://%s/   metrics: http://%s/metrics", e.Agent.Address(), e.Agent.Address())
	p.line("Simulated API: %s   token file: %s", e.Endpoint, e.TokenFile())
	if controls != "" {
		p.line("Faults of the cluster: curl -d '{\"kind\":\"task-fails\",\"path\":\"/config$\",\"text\":\"no space\"}' %s/faults   (docs/internals/simulator.md)", controls)
	}
	p.line("")
}

// progress prints the guests whose state changed, and reports whether there was one. shown holds what was printed before.
func (p printer) progress(r report.Report, shown map[string]string) bool {
	changed := false
	for _, g := range r.Guests {
		if text := stateOf(g); shown[g.Label()] != text {
			shown[g.Label()], changed = text, true
			p.line("  %s: %s", label(g), text)
		}
	}
	return changed
}

// stateOf describes a guest in a few words.
func stateOf(g report.Guest) string {
	switch {
	case g.Operation == report.Busy:
		return "working"
	case g.Sync == report.Synced && g.Health == report.Healthy:
		return strings.TrimSuffix(inSync(g)+", "+string(g.Status), ", ")
	case needsPerson(g) && len(g.Conditions) > 0:
		return fmt.Sprintf("%s: %s", g.Conditions[0].Type, g.Conditions[0].Message)
	default:
		return "waiting"
	}
}

func label(g report.Guest) string {
	text := g.Label()
	if g.VMID != 0 {
		text += fmt.Sprintf(" (%d", g.VMID)
		if g.Node != "" {
			text += " on " + g.Node
		}
		text += ")"
	}
	return text
}

// state prints a final state.
func (p printer) state(e *sandbox.Environment, r report.Report, commit string) {
	d := document{State: "pending", Commit: commit, StatusPage: "http://" + e.Agent.Address() + "/", Report: &r}
	p.line("")
	outcome, final := judge(r, commit, true)
	switch {
	case final && outcome == nil:
		d.State = "converged"
		p.line("Converged: %s in the state of the manifests.", objects(r))
	case r.Converged && r.Except != nil:
		p.line("Converged %s, as with a real cluster:", r.Except)
		for _, g := range r.Guests {
			if g.Except() != nil || needsPerson(g) {
				p.line("  %s: %s", label(g), stateOf(g))
				p.conditions(g)
				p.held(e, g)
			}
		}
	case r.Source.Refused != nil && r.Source.Refused.Commit == commit:
		d.State = "refused"
		p.line("Refused: %s", r.Source.Refused.Error)
		p.line("  %s", r.Source.Refused.Hint)
		if r.Source.Accepted != nil {
			p.line("The manifests before it stay in force.")
		}
	default:
		p.line("Not converged:")
		for _, g := range r.Guests {
			if needsPerson(g) {
				p.line("  %s: %s", label(g), stateOf(g))
				p.conditions(g)
				p.held(e, g)
			}
		}
	}
	p.document(d)
}

// held prints how to approve the held steps of a guest.
func (p printer) held(e *sandbox.Environment, g report.Guest) {
	for _, h := range g.Held {
		if h.Digest != "" {
			p.line("      approve it: cd %s && git commit --allow-empty -m Approve -m 'Gitops-Approve: %s' && git push", e.Repository.Work, h.Digest)
		}
	}
}

// instructions prints what the reader can try.
func (p printer) instructions(e *sandbox.Environment) {
	p.line("")
	p.line("The sandbox runs until Ctrl-C. Commits in %s are signed as you; push them there:", e.Repository.Work)
	p.line("  cd %s && git commit -a -m 'try something' && git push", e.Repository.Work)
	p.line("Change a guest behind the agent's back, and see the status page and the repair:")
	p.line("  curl -k -X PUT -H \"Authorization: PVEAPIToken=$(cat %s)\" -d onboot=0 %s/api2/json/nodes/NODE/qemu/VMID/config", e.TokenFile(), e.Endpoint)
}

// objects counts guests and the objects of other kinds.
func objects(r report.Report) string {
	others := 0
	for _, g := range r.Guests {
		if g.Kind != guest.VirtualMachine && g.Kind != guest.Container {
			others++
		}
	}
	text := count(len(r.Guests)-others, "guest")
	if others > 0 {
		text += " and " + count(others, "other object")
	}
	return text
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
