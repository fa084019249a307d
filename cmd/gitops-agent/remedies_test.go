package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// remedyCase is a situation, and the remedy that the agent prints in it. The test carries the remedy out as the text says, and expects the reason gone.
type remedyCase struct {
	remedy  string // its name in package reason
	world   string // cases of one world share a cluster and an agent
	subject string // label of the guest or object; that of the Cluster is "Cluster/home"

	files  string             // manifests
	before func(w *cureWorld) // prepares the cluster before the agent starts
	cause  func(w *cureWorld) // what is done in the cluster when the manifests are in effect
	then   string             // manifests of the commit after that
	drop   []string           // labels whose manifests that commit removes

	// What is done about it. Fields and commands are taken from the printed text.
	edits   []edit             // in one commit
	of      string             // label of the manifest that is edited, "" for the subject
	run     bool               // the printed command
	do      func(w *cureWorld) // what the text says about the cluster, or about other manifests; after the command
	after   func(w *cureWorld) // what the text says about the cluster once the edits are in force
	approve bool               // the steps that the remedy leads to are approved, by the printed commands
	last    []string           // labels whose manifests are removed at last, as the text says

	now   string                  // the subject's label afterwards, "" for the same one
	still bool                    // the setting is missing afterwards, and no step is held for it
	gone  bool                    // the subject is not in the report afterwards
	want  func(w *cureWorld) bool // of the cluster afterwards, nil for nothing more than a guest in sync
}

// edit is a field that the text names. Its value is the one in the text, or the one of the case if a person decides it. "-" removes the field.
type edit struct{ field, value string }

// adviceOnly are the remedies that are no command and no edit, with the reason why no case carries them out.
var adviceOnly = map[string]string{
	"AddToJob":              "a person decides what the manifest shall say",
	"AfterAdoption":         "it ends by itself, and nothing is to be done",
	"AfterVMID":             "it ends by itself, and nothing is to be done",
	"AttachLater":           "a person decides what the manifest shall say",
	"AwaitCluster":          "it ends by itself, and nothing is to be done",
	"AwaitDeletion":         "it ends by itself, and nothing is to be done",
	"AwaitFloor":            "it ends by itself, and nothing is to be done",
	"AwaitLeader":           "it ends by itself, and nothing is to be done",
	"AwaitReturn":           "it ends by itself, and nothing is to be done",
	"BringStoreBack":        "it is done in Proxmox, by a person who has looked at the cause",
	"ChangeByHand":          "a person decides what the manifest shall say",
	"ChangeTemplate":        "a person decides what the manifest shall say",
	"CheckAddress":          "it is done in Proxmox, by a person who has looked at the cause",
	"CheckTrust":            "a person decides what the manifest shall say",
	"CorrectDenied":         "a person decides what the manifest shall say",
	"CorrectField":          "a person decides what the manifest shall say",
	"CorrectRefused":        "a person decides what the manifest shall say",
	"DeletedLater":          "it ends by itself, and nothing is to be done",
	"DetachVolume":          "it is done in Proxmox, by a person who has looked at the cause",
	"DisableByRemoval":      "a person decides what the manifest shall say",
	"EndOverride":           "it ends by itself, and nothing is to be done",
	"FindFileEditor":        "it is done in Proxmox, by a person who has looked at the cause",
	"FreeVolume":            "it is done in Proxmox, by a person who has looked at the cause",
	"GrantJobAudit":         "it is done in Proxmox, by a person who has looked at the cause",
	"HoldsNothing":          "it ends by itself, and nothing is to be done",
	"InSpite":               "it ends by itself, and nothing is to be done",
	"LeaveOutAtCreation":    "a person decides what the manifest shall say",
	"LeaveRule":             "a person decides what the manifest shall say",
	"MoveGuest":             "a person decides what the manifest shall say",
	"OtherSigner":           "a person decides what the manifest shall say",
	"PolicyRestarts":        "it ends by itself, and nothing is to be done",
	"PushAgain":             "a person decides what the manifest shall say",
	"PutInBackups":          "a person decides what the manifest shall say",
	"ReassignVolume":        "it is done in Proxmox, by a person who has looked at the cause",
	"ReleaseVolume":         "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveChangedFile":     "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveChangedFormer":   "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveCopiedTag":       "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveReplication":     "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveSnapshotCause":   "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveStranger":        "it is done in Proxmox, by a person who has looked at the cause",
	"RemoveUsers":           "it is done in Proxmox, by a person who has looked at the cause",
	"RestoreStateDirectory": "it is done in Proxmox, by a person who has looked at the cause",
	"RestoreStore":          "it is done in Proxmox, by a person who has looked at the cause",
	"SeveralCommits":        "a person decides what the manifest shall say",
	"StartNode":             "it is done in Proxmox, by a person who has looked at the cause",
	"StartTarget":           "it is done in Proxmox, by a person who has looked at the cause",
	"StopNodeTasks":         "it is done in Proxmox, by a person who has looked at the cause",
	"StopTask":              "it is done in Proxmox, by a person who has looked at the cause",
	"UndoJobEdit":           "a person decides what the manifest shall say",
	"UpgradeNodes":          "it is done in Proxmox, by a person who has looked at the cause",
}

// toldElsewhere are the remedies with commands that a script runs.
var toldElsewhere = map[string]string{
	"CheckToken":      "config_cluster.txtar",
	"CheckTrustFiles": "config.txtar",
	"FreeDisk":        "journal_repair.txtar",
	"Resume":          "pause.txtar",
}

// curePattern finds the remedies that an engine test carries out.
var curePattern = regexp.MustCompile(`\.cure\(reason\.(\w+), `)

// curedInEngine returns the remedies that tests of package reconcile carry out, with the name of a file.
func curedInEngine(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "reconcile", "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files of tests and %v", len(files), err)
	}
	cured := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range curePattern.FindAllSubmatch(text, -1) {
			cured[string(m[1])] = file
		}
	}
	return cured
}

// cureWorld is a cluster with an agent, in this process, and its manifests.
type cureWorld struct {
	testing.TB
	*stage
	cases     []remedyCase
	manifests map[string]map[string]any // by label
	stopped   func()
	address   string
	approved  map[string]bool
}

func newCureWorld(t *testing.T, cases []remedyCase) *cureWorld {
	t.Helper()
	dir := t.TempDir()
	s := &stage{dir: dir, sim: pvesim.New(pvesim.Options{
		TaskTime: 5 * time.Millisecond, Nodes: []string{"pve1", "pve2", "pve3"}, Storages: []pvesim.Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "backup,iso,vztmpl,images,rootdir,snippets,import"},
			{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir", Shared: true},
		},
	})}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	t.Cleanup(s.close)
	s.env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_GLOBAL="+s.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1", sigstoreVariable+"="+s.path("sigstore"))
	w := &cureWorld{TB: t, stage: s, cases: cases, manifests: map[string]map[string]any{}, approved: map[string]bool{}}
	served, err := s.openCluster(ctx, s.sim, "token")
	w.ok(err)
	w.ok(s.openSigstore())
	w.ok(s.openRepository())
	w.ok(s.writeConfig("home", served))
	s.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: slices.Concat(pvesim.DefaultTokens()[1].ACL[0].Privileges,
		[]string{"Sys.Modify", "Datastore.Allocate", "Sys.Console", "VM.Replicate", "Sys.AccessNetwork"})}})
	w.add("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 799}}\n")
	return w
}

func (w *cureWorld) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// start starts an agent with the config as it is.
func (w *cureWorld) start() {
	w.Helper()
	config, err := agent.ReadConfig(w.path("config.yaml"))
	w.ok(err)
	ctx, cancel := context.WithCancel(context.Background())
	a, err := agent.New(ctx, agent.Options{Config: config, Logger: slog.New(slog.DiscardHandler), ClaimWait: claimWait})
	w.ok(err)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	w.address = "http://" + a.Address()
	w.stopped = func() {
		cancel()
		if err := <-ended; err != nil {
			w.Logf("agent: %v", err)
		}
		w.ok(a.Close())
		w.stopped = nil
	}
}

// add writes manifests, in place of those of the same labels.
func (w *cureWorld) add(text string) {
	w.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		manifest := map[string]any{}
		if decoder.Decode(&manifest) != nil {
			break
		}
		metadata, _ := manifest["metadata"].(map[string]any)
		label := fmt.Sprintf("%v/%v", manifest["kind"], metadata["name"])
		manifest["apiVersion"] = "proxmox.gitops/v1alpha1"
		w.manifests[label] = manifest
	}
}

// push commits the manifests and returns the commit.
func (w *cureWorld) push(message string) string {
	w.Helper()
	w.ok(os.RemoveAll(w.path("repo/manifests")))
	w.ok(os.MkdirAll(w.path("repo/manifests"), 0o700))
	for label, manifest := range w.manifests {
		text, err := yaml.Marshal(manifest)
		w.ok(err)
		w.ok(os.WriteFile(filepath.Join(w.path("repo/manifests"), strings.ReplaceAll(label, "/", "-")+".yaml"), text, 0o600))
	}
	head, err := w.commit("alice", message)
	w.ok(err)
	w.ok(w.stage.push())
	return head
}

// program runs gitops-agent with the config of the world and returns what it prints.
func (w *cureWorld) program(args ...string) string {
	w.Helper()
	var out, problems bytes.Buffer
	status := (&program{out: &out, err: &problems, claimWait: claimWait}).run(w.Context(), append([]string{"--config", w.path("config.yaml")}, args...))
	if status != 0 {
		w.Fatalf("gitops-agent %s: got status %d, %s%s", strings.Join(args, " "), status, out.String(), problems.String())
	}
	return out.String()
}

// report is what gitops-agent status prints.
func (w *cureWorld) report() report.Document {
	w.Helper()
	var doc report.Document
	w.ok(json.Unmarshal([]byte(w.program("status", "-o", "json", "--url", w.address)), &doc))
	return doc
}

// conditionsOf returns what the report says about an object: its conditions, with those of steps that are held.
func conditionsOf(r report.Document, label string) (conditions []plan.Condition, state string, found bool) {
	if label == "Cluster/home" {
		if r.Guards != nil {
			for _, h := range r.Guards.Held {
				conditions = append(conditions, plan.Condition{Type: plan.Held, Reason: h.Reason, Message: h.Message, Hint: h.Hint, Digest: h.Digest})
			}
		}
		return conditions, string(report.Synced), true
	}
	for _, g := range r.Guests { // a manifest that lost its vmid, and the guest that it named, have one label
		if g.Label() == label {
			conditions, found = append(conditions, g.Conditions...), true
			if state == "" || state == string(report.Synced) {
				state = string(g.Sync)
			}
		}
	}
	return conditions, state, found
}

// await looks at the report until each case has nothing to say.
func (w *cureWorld) await(what string, cases []remedyCase, missing func(r report.Document, c remedyCase) string) {
	w.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		r := w.report()
		var words []string
		for _, c := range cases {
			if why := missing(r, c); why != "" {
				words = append(words, c.remedy+" of "+c.subject+": "+why)
			}
		}
		if len(words) == 0 {
			return
		}
		if time.Now().After(deadline) {
			words = append(words, fmt.Sprintf("writes: %s %s; source: %s; refused: %+v", r.Writes.Reason, r.Writes.Message, r.Source.Error, r.Source.Refused))
			w.Fatalf("%s:\n%s", what, strings.Join(words, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// printed is the remedy as the agent printed it, with the values of its placeholders.
type printed struct {
	hint    string
	message string
	reason  reason.Name
	values  map[string]string
}

var placeholderPattern = regexp.MustCompile(`\{[a-z ]+\}`)

// find returns the remedy among conditions.
func find(conditions []plan.Condition, remedy reason.Remedy) (printed, bool) {
	names := placeholderPattern.FindAllString(remedy.Text, -1)
	parts := placeholderPattern.Split(remedy.Text, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	value := "(.+?)"
	pattern := strings.Join(parts, value)
	if strings.HasSuffix(pattern, value) {
		pattern += "$"
	}
	compiled := regexp.MustCompile("(?s)" + pattern)
	for _, c := range conditions {
		if m := compiled.FindStringSubmatch(c.Hint); m != nil {
			p := printed{hint: c.Hint, message: c.Message, reason: c.Reason, values: map[string]string{}}
			for i, name := range names {
				p.values[name] = m[i+1]
			}
			return p, true
		}
	}
	return printed{}, false
}

func describe(conditions []plan.Condition) string {
	var words []string
	for _, c := range conditions {
		words = append(words, fmt.Sprintf("%s (%s) %s [%s]", c.Type, c.Reason, c.Message, c.Hint))
	}
	return strings.Join(words, "; ")
}

// fieldIn returns the field as the text prints it: the path, or the end of it.
func fieldIn(text, field string) (string, bool) {
	parts := strings.Split(field, ".")
	for i := range parts {
		short := strings.Join(parts[i:], ".")
		if regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(short) + `($|[^\w.]|\.($|\s))`).MatchString(text) {
			return short, true
		}
	}
	return "", false
}

// apply makes an edit that the text names.
func (w *cureWorld) apply(c remedyCase, e reason.Edit, by edit, p printed) {
	w.Helper()
	shown, found := fieldIn(p.hint, by.field)
	if !found {
		w.Fatalf("%s: got the text %q, want it to name %s", c.remedy, p.hint, by.field)
	}
	value := by.value
	if value == "" {
		m := regexp.MustCompile(regexp.QuoteMeta(shown) + `: (\[[^]]*\]|[\w-]+)`).FindStringSubmatch(p.hint)
		if m == nil {
			w.Fatalf("%s: got the text %q, want the value of %s", c.remedy, p.hint, shown)
		}
		value = m[1]
	}
	if e.File == reason.Config {
		w.editConfig(shown, value)
		return
	}
	label := c.subject
	if c.of != "" {
		label = c.of
	}
	if e.File == reason.Cluster {
		label = "Cluster/home"
	}
	manifest := w.manifests[label]
	if manifest == nil {
		w.Fatalf("%s: no manifest %s", c.remedy, label)
	}
	if shown != "kind" && !strings.HasPrefix(shown, "spec.") {
		shown = "spec." + shown
	}
	shown = strings.NewReplacer("netN", "net0", "SLOT", "scsi1").Replace(shown)
	setField(w, manifest, strings.Split(shown, "."), value)
	if shown == "kind" {
		delete(w.manifests, label)
		metadata, _ := manifest["metadata"].(map[string]any)
		w.manifests[value+"/"+fmt.Sprint(metadata["name"])] = manifest
	}
}

// editConfig sets a key of the agent's config.
func (w *cureWorld) editConfig(field, value string) {
	w.Helper()
	text, err := os.ReadFile(w.path("config.yaml"))
	w.ok(err)
	config := map[string]any{}
	w.ok(yaml.Unmarshal(text, &config))
	setField(w, config, strings.Split(field, "."), value)
	text, err = yaml.Marshal(config)
	w.ok(err)
	w.ok(os.WriteFile(w.path("config.yaml"), text, 0o600))
}

func setField(w *cureWorld, in map[string]any, path []string, value string) {
	for _, name := range path[:len(path)-1] {
		next, isMap := in[name].(map[string]any)
		if !isMap {
			next = map[string]any{}
			in[name] = next
		}
		in = next
	}
	last := path[len(path)-1]
	if value == "-" {
		delete(in, last)
		return
	}
	var v any
	w.ok(yaml.Unmarshal([]byte(value), &v))
	in[last] = v
}

// carryOut runs a printed command.
func (w *cureWorld) carryOut(command string) {
	w.Helper()
	if where, rest, isOnNode := strings.Cut(command, ": "); isOnNode && strings.HasPrefix(where, "as root on ") {
		command = rest
	}
	words := strings.Fields(command)
	switch {
	case words[0] == "gitops-agent" && (words[1] == "approve" || words[1] == "order"):
		w.inRepository(w.program(append(words[1:], "--url", w.address)...), "olga")
	case words[0] == "gitops-agent":
		w.program(words[1:]...)
	case (words[0] == "qm" || words[0] == "pct") && words[1] == "set":
		w.asRoot(words[2], words[3:])
	case (words[0] == "qm" || words[0] == "pct") && words[1] == "unlock":
		vmid, err := strconv.Atoi(words[2])
		w.ok(err)
		w.ok(w.sim.Edit(vmid, "lock", ""))
	case strings.HasPrefix(command, "ha-manager crm-command node-maintenance disable "):
		w.sim.SetMaintenance(words[4], false)
	default:
		w.Fatalf("no way to run %q", command)
	}
}

// asRoot does what "qm set" or "pct set" does.
func (w *cureWorld) asRoot(vmid string, options []string) {
	w.Helper()
	number, err := strconv.Atoi(vmid)
	w.ok(err)
	for i := 0; i+1 < len(options); i += 2 {
		w.ok(w.sim.Edit(number, strings.TrimPrefix(options[i], "--"), strings.Trim(options[i+1], "'")))
	}
}

// inRepository runs a printed git command with the signing program of a person, and pushes.
func (w *cureWorld) inRepository(command, who string) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = w.path("repo"), append(slices.Clone(w.env), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=gpg.x509.program", "GIT_CONFIG_VALUE_0=sign-as-"+who)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%s: %v\n%s", command, err, out)
	}
	w.ok(w.stage.push())
}

// approvePrinted runs the printed commands that approve what is held.
func (w *cureWorld) approvePrinted(r report.Document, label string) {
	w.Helper()
	conditions, _, _ := conditionsOf(r, label)
	if p, found := find(conditions, reason.ApproveDigest); found && !w.approved[p.values["{digest}"]] {
		w.approved[p.values["{digest}"]] = true
		w.carryOut(p.hint)
	}
}

// remediesByName returns the remedies of package reason by the names of their variables.
func remediesByName(t testing.TB) map[string]reason.Remedy {
	t.Helper()
	byText := map[string]reason.Remedy{}
	note := func(list ...reason.Remedy) {
		for _, r := range list {
			byText[r.Text] = r
		}
	}
	for _, r := range reason.Rows() {
		note(r.Remedies...)
	}
	for _, s := range reason.Stops() {
		note(s.Row().Remedy)
	}
	for _, r := range reason.Outages() {
		note(r.Remedy)
	}
	named := map[string]reason.Remedy{}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "reconcile", "reason", "remedies.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.CompositeLit).Elts[0].(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value)
		if r, known := byText[text]; err == nil && known {
			named[spec.Names[0].Name] = r
		}
		return true
	})
	return named
}

// Each remedy that the agent prints helps in the situation in which it prints it.
func TestRemediesHelp(t *testing.T) {
	t.Parallel()
	worlds := map[string][]remedyCase{}
	for _, c := range remedyCases() {
		worlds[c.world] = append(worlds[c.world], c)
	}
	for name, cases := range worlds {
		t.Run(cmp.Or(name, "common"), func(t *testing.T) {
			t.Parallel()
			newCureWorld(t, cases).run()
		})
	}
}

func (w *cureWorld) run() {
	w.Helper()
	remedies := remediesByName(w)
	defer func() {
		if w.stopped != nil {
			w.stopped()
		}
	}()
	for _, c := range w.cases {
		if c.before != nil {
			c.before(w)
		}
		w.add(c.files)
	}
	w.push("manifests")
	w.start()
	w.await("the manifests are in effect", w.cases, func(r report.Document, c remedyCase) string {
		if c.cause == nil && c.then == "" && c.drop == nil {
			return ""
		}
		if conditions, state, _ := conditionsOf(r, c.subject); state != string(report.Synced) {
			return fmt.Sprintf("got %q, %s, want it in sync", state, describe(conditions))
		}
		return ""
	})
	for _, c := range w.cases {
		w.add(c.then)
		for _, label := range c.drop {
			delete(w.manifests, label)
		}
	}
	w.push("the cause")
	for _, c := range w.cases {
		if c.cause != nil {
			c.cause(w)
		}
	}
	texts := map[string]printed{}
	w.await("each remedy is printed", w.cases, func(r report.Document, c remedyCase) string {
		conditions, state, _ := conditionsOf(r, c.subject)
		p, found := find(conditions, remedies[c.remedy])
		if !found {
			return fmt.Sprintf("got %s: %s, want %q", state, describe(conditions), remedies[c.remedy].Text)
		}
		texts[c.remedy+c.subject] = p
		return ""
	})
	restart := false
	for _, c := range w.cases {
		p, remedy := texts[c.remedy+c.subject], remedies[c.remedy]
		for _, by := range c.edits {
			at := slices.IndexFunc(remedy.Edits, func(e reason.Edit) bool {
				return strings.HasSuffix(e.Field, by.field) || strings.HasSuffix(by.field, e.Field)
			})
			var e reason.Edit
			if at >= 0 {
				e = remedy.Edits[at]
			}
			restart = restart || e.File == reason.Config
			w.apply(c, e, by, p)
		}
		if c.do != nil && !c.run {
			c.do(w)
		}
	}
	if restart {
		w.stopped()
	}
	head := w.push("the remedies")
	if restart {
		w.start()
	}
	if later := slices.DeleteFunc(slices.Clone(w.cases), func(c remedyCase) bool { return c.after == nil }); len(later) > 0 {
		w.await("the edits are in force", later, func(r report.Document, _ remedyCase) string {
			if r.Source.Accepted == nil || r.Source.Accepted.Commit != head {
				return "the revision is not in force"
			}
			return ""
		})
		for _, c := range later {
			c.after(w)
		}
	}
	for _, c := range w.cases {
		if c.run {
			command := remedies[c.remedy].Command
			p := texts[c.remedy+c.subject]
			for name, value := range p.values {
				command = strings.ReplaceAll(command, name, value)
			}
			if !strings.Contains(p.hint, command) {
				w.Fatalf("%s: got the text %q, want the command %q in it", c.remedy, p.hint, command)
			}
			w.carryOut(command)
			if c.do != nil {
				c.do(w)
			}
		}
	}
	if removes := slices.DeleteFunc(slices.Clone(w.cases), func(c remedyCase) bool { return c.last == nil }); len(removes) > 0 {
		w.await("what is removed at last is back", removes, func(r report.Document, c remedyCase) string {
			w.approvePrinted(r, c.subject)
			conditions, state, _ := conditionsOf(r, c.subject)
			if state != string(report.Synced) || len(conditions) > 0 {
				return fmt.Sprintf("got %q, %s, want it in sync", state, describe(conditions))
			}
			return ""
		})
		for _, c := range removes {
			for _, label := range c.last {
				delete(w.manifests, label)
			}
		}
		w.push("what is removed at last")
	}
	w.await("each reason is gone", w.cases, func(r report.Document, c remedyCase) string {
		if c.approve {
			w.approvePrinted(r, c.subject)
			w.approvePrinted(r, "Cluster/home")
		}
		return w.unhelped(r, c, remedies[c.remedy], texts[c.remedy+c.subject])
	})
}

// unhelped returns what of the case is not as wanted, "" if the remedy has helped.
func (w *cureWorld) unhelped(r report.Document, c remedyCase, remedy reason.Remedy, before printed) string {
	label := c.subject
	if c.now != "" {
		label = c.now
	}
	conditions, state, found := conditionsOf(r, label)
	_, again := find(conditions, remedy)
	isSame := func(k plan.Condition) bool { return k.Reason == before.reason && (!c.still || k.Type == plan.Held) }
	switch {
	case c.gone && found:
		return "it is still in the report: " + describe(conditions)
	case c.gone:
	case !found:
		return "it is not in the report"
	case again || slices.ContainsFunc(conditions, isSame):
		return fmt.Sprintf("after %q: %s", before.hint, describe(conditions))
	case state != string(report.Synced):
		return fmt.Sprintf("after %q: got %s, %s", before.hint, state, describe(conditions))
	}
	if c.want != nil && !c.want(w) {
		return fmt.Sprintf("after %q: the cluster is not as wanted", before.hint)
	}
	return ""
}

// Every remedy is carried out by a case, by an engine test or a script, or is advice for people. A remedy with a command or edits is not advice.
func TestEachRemedyHasACase(t *testing.T) {
	t.Parallel()
	carriedOut := map[string][]remedyCase{}
	for _, c := range remedyCases() {
		carriedOut[c.remedy] = append(carriedOut[c.remedy], c)
	}
	remedies, cured := remediesByName(t), curedInEngine(t)
	for _, c := range sourceCases("", "", "") {
		for name, remedy := range remedies {
			if remedy.Text == c.remedy.Text {
				cured[name] = "remedies_source_test.go"
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(remedies)) {
		remedy := remedies[name]
		places := min(len(carriedOut[name]), 1)
		for _, list := range []map[string]string{cured, toldElsewhere, adviceOnly} {
			if list[name] != "" {
				places++
			}
		}
		switch {
		case places == 0:
			t.Errorf("%s: no case carries it out: %q", name, remedy.Text)
		case places > 1:
			t.Errorf("%s: got it in several places, want a case, a script, another situation or advice", name)
		case adviceOnly[name] != "" && (remedy.Command != "" || len(remedy.Edits) > 0):
			t.Errorf("%s: got advice for people, and it is a command or an edit: %q", name, remedy.Text)
		}
	}
	for name, script := range toldElsewhere {
		text, err := os.ReadFile(filepath.Join("testdata", "script", script))
		if command := remedies[name].Command; err != nil || command == "" || !strings.Contains(string(text), command) {
			t.Errorf("%s: got no %q in the script %s (%v)", name, command, script, err)
		}
	}
	for _, list := range []map[string]string{cured, toldElsewhere, adviceOnly} {
		for name := range list {
			if _, known := remedies[name]; !known {
				t.Errorf("%s: there is no such remedy", name)
			}
		}
	}
	for name := range carriedOut {
		if _, known := remedies[name]; !known {
			t.Errorf("%s: there is no such remedy", name)
		}
	}
}

// addVM adds a virtual machine that a person made.
func (w *cureWorld) addVM(vmid int, name string) {
	w.Helper()
	_, err := w.sim.AddVM(pvesim.Guest{VMID: vmid, Config: "name: " + name + "\nmemory: 1024\n"})
	w.ok(err)
}
