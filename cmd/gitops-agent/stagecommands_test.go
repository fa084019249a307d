package main

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// stageCommands are the commands of scripts in addition to running programs:
//
//	exits N PROGRAM [ARG...]         run a program that has to end with an exit status
//	commit WHO MESSAGE [TRAILER...]  commit all of repo/ signed by WHO, or not signed if WHO is nobody, and push; sets $HEAD
//	sim SUBCOMMAND ...               look at the cluster, or change it behind the agent's back
//	capture NAME REGEXP              set a variable to what a group matches in the last stdout
//	mask FROM TO                     copy a file with ids, times and generated values replaced
//	replace FILE REGEXP TEXT         replace what matches in a file; \n in the text begins a line
//	damage DIR                       flip a bit in the middle of the journal's first file
//	agent                            start an agent in this process; sets $AGENT to its address
//	stopagent                        stop it
//	forge KIND                       start a forge, or return to it, and set the variables of a job for its pull request
//	comment FILE                     write the one comment of the pull request to a file
//	rekor                            start the log in which sign-as-online logs; sets $REKOR to its address
//	tuf                              start a TUF repository with the trusted root of sigstore/; sets $TUF and writes tuf-root.json
//	sandboxroot FILE                 write the trusted root of another Sigstore, whose authority has the marker of a sandbox
//	cilines FILE NAME TO             write the shell lines of a step or job of a CI example to a file
func stageCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exits": exitsCommand, "commit": commitCommand, "sim": simCommand, "capture": captureCommand, "mask": maskCommand, "replace": replaceCommand, "damage": damageCommand, "agent": agentCommand, "stopagent": stopAgentCommand, "cilines": ciLinesCommand, "forge": forgeCommand, "comment": commentCommand, "rekor": rekorCommand, "tuf": tufCommand, "sandboxroot": sandboxRootCommand,
	}
}

func sandboxRootCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sandboxroot FILE")
	}
	sigstore, err := sigtest.New(sigtest.Options{Seed: "sandbox", Extensions: map[string][]pkix.Extension{"ca-root": {verify.SandboxMarker()}}})
	ts.Check(err)
	root, err := sigstore.TrustedRoot()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), root, 0o600))
}

func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM [ARG...]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("got exit status %d, want %s", got, args[0])
	}
}

func commitCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: commit WHO MESSAGE [TRAILER...]")
	}
	who, message, trailers := args[0], args[1], args[2:]
	if len(trailers) > 0 {
		message += "\n\n" + strings.Join(trailers, "\n")
	}
	s := stageOf(ts)
	head, err := s.commit(who, message)
	ts.Check(err)
	ts.Check(s.push())
	ts.Setenv("HEAD", head)
}

func simCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: sim SUBCOMMAND ...")
	}
	s := stageOf(ts)
	arg := func(i int) string {
		if i >= len(args) {
			ts.Fatalf("sim %s: want more arguments", args[0])
		}
		return args[i]
	}
	number := func(i int) int {
		n, err := strconv.Atoi(arg(i))
		ts.Check(err)
		return n
	}
	want := func(holds bool, format string, values ...any) {
		if holds == neg {
			ts.Fatalf("sim %s: "+format, append([]any{strings.Join(args, " ")}, values...)...)
		}
	}
	switch args[0] {
	case "edit": // VMID KEY VALUE, behind the API's back
		ts.Check(s.sim.Edit(number(1), arg(2), arg(3)))
	case "add": // VMID NAME, a virtual machine made by hand
		_, err := s.sim.AddVM(pvesim.Guest{VMID: number(1), Config: "name: " + arg(2) + "\nmemory: 4096\n"})
		ts.Check(err)
	case "contain": // VMID NAME, a container made by hand
		_, err := s.sim.AddCT(pvesim.Guest{VMID: number(1), Config: "hostname: " + arg(2) + "\nmemory: 512\nunprivileged: 1\n"})
		ts.Check(err)
	case "template": // VMID NAME VOLUME, a template made by hand on the first node
		_, err := s.sim.AddTemplate(pvesim.Guest{VMID: number(1), Config: "name: " + arg(2) + "\nmemory: 512\nscsi0: " + arg(3) + ",size=1G\n"})
		ts.Check(err)
	case "pool": // ID COMMENT, a pool made by hand
		s.sim.AddPool(arg(1), arg(2))
	case "job": // ID KEY=TEXT..., a backup job made by hand
		keys := pairs(args[2:])
		if keys["enabled"] == "" {
			keys["enabled"] = "1"
		}
		s.sim.SetBackupJob(arg(1), keys)
	case "replication": // ID KEY=TEXT..., a replication job made by hand
		s.sim.SetReplication(arg(1), pairs(args[2:]))
	case "jobkey": // ID KEY WANT, of a backup job; markers are masked
		got := markerPattern.ReplaceAllString(s.sim.BackupJob(arg(1))[arg(2)], "MARKER")
		want(got == arg(3), "got %q", got)
	case "alias": // NAME CIDR COMMENT, of the datacenter's firewall, made by hand
		s.sim.SetAlias(arg(1), arg(2), arg(3))
	case "aliaskey": // NAME KEY WANT, of such an alias; markers are masked
		got := markerPattern.ReplaceAllString(s.sim.Alias(arg(1))[arg(2)], "MARKER")
		want(got == arg(3), "got %q", got)
	case "ipset": // NAME COMMENT ADDRESS..., of the datacenter's firewall, made by hand
		s.sim.SetIPSet(arg(1), arg(2), args[3:]...)
	case "group": // NAME COMMENT, a security group without rules made by hand
		s.sim.SetGroup(arg(1), arg(2))
	case "grouprule": // NAME KEY=TEXT..., puts a rule in effect behind those of a group by hand
		comment, rules, _ := s.sim.Group(arg(1))
		rule := pairs(args[2:])
		rule["enable"] = "1"
		s.sim.SetGroup(arg(1), comment, append(rules, rule)...)
	case "groupcomment", "setcomment": // NAME WANT, of a security group or a set; markers are masked
		got, _, _ := s.sim.Group(arg(1))
		if args[0] == "setcomment" {
			got, _, _ = s.sim.IPSet(arg(1))
		}
		got = markerPattern.ReplaceAllString(got, "MARKER")
		want(got == arg(2), "got %q", got)
	case "nodes": // NODE..., of a new cluster in place of the one of the stage, with the shared storage ceph, and fast, which the first node alone has
		served, err := s.reopen(pvesim.Options{Nodes: args[1:], Storages: []pvesim.Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "backup,iso,vztmpl,images,rootdir,snippets,import"},
			{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"},
			{ID: "ceph", Type: "lvmthin", Content: "images,rootdir", Shared: true},
			{ID: "fast", Type: "lvmthin", Content: "images,rootdir", Nodes: arg(1)},
		}})
		ts.Check(err)
		ts.Setenv("ENDPOINT", served.endpoint)
		ts.Setenv("FINGERPRINT", served.fingerprint)
	case "ha": // VMID, of a guest that the HA manager knows and leaves alone
		ts.Check(s.sim.ManageByHA(number(1)))
	case "master": // stops|starts, of the HA manager
		map[string]func(){"stops": s.sim.StopHAMaster, "starts": s.sim.StartHAMaster}[arg(1)]()
	case "entry": // VMID, while an agent works: it has added a virtual machine to the HA manager
		added := func() bool { return s.sim.Counters().Objects["/cluster/ha/resources/vm:"+arg(1)]["POST"] > 0 }
		for deadline := time.Now().Add(2 * time.Minute); !added() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		want(added(), "got no entry")
	case "rule": // ID KEY=TEXT..., a rule of the HA manager made by hand
		s.sim.SetHARule(arg(1), pairs(args[2:]))
	case "rulekey": // ID KEY WANT, of such a rule; markers are masked
		got := markerPattern.ReplaceAllString(s.sim.HARule(arg(1))[arg(2)], "MARKER")
		want(got == arg(3), "got %q", got)
	case "privilege": // NAME..., in addition to those of the quickstart's role
		s.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: slices.Concat(pvesim.DefaultTokens()[1].ACL[0].Privileges, args[1:])}})
	case "comment": // ID WANT, of a pool; markers are masked
		got, _ := s.sim.PoolComment(arg(1))
		got = markerPattern.ReplaceAllString(got, "MARKER")
		want(got == arg(2), "got %q", got)
	case "value": // VMID KEY WANT
		got := s.sim.Value(number(1), arg(2))
		want(got == arg(3), "got %q", got)
	case "await": // VMID KEY WANT, while an agent works
		deadline := time.Now().Add(2 * time.Minute)
		for s.sim.Value(number(1), arg(2)) != arg(3) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		want(s.sim.Value(number(1), arg(2)) == arg(3), "got %q", s.sim.Value(number(1), arg(2)))
	case "exists": // VMID
		want(s.sim.Config(number(1)) != "", "got config %q", s.sim.Config(number(1)))
	case "running": // VMID
		want(s.sim.Running(number(1)), "got config %q", s.sim.Config(number(1)))
	case "effects": // VMID OP N
		got := s.sim.Effects(number(1), pvesim.Op(arg(2)))
		want(got == number(3), "got %d", got)
	case "writes": // N since the last reset
		got := s.sim.Counters().Writes
		want(got == number(1), "got %d: %v", got, s.sim.Counters().Routes)
	case "reads": // METHOD and ROUTE, N since the last reset
		got := s.sim.Counters().Routes[arg(1)]
		want(got == number(2), "got %d", got)
	case "forget": // every agent: the cluster has no floor and no writer
		s.sim.RemovePool("gitops-agent")
	case "reset":
		s.sim.ResetCounters()
	case "volume": // ID of an image, a template or a backup to have
		ts.Check(s.sim.AddVolume(arg(1), 1<<20))
	case "unreadable": // VMID
		ts.Check(s.sim.Inject(pvesim.Fault{Method: "GET", Path: fmt.Sprintf("/%d/", number(1)), Times: -1, Kind: pvesim.ErrorText, Text: "got timeout"}))
	case "grant": // PATH PRIVILEGE..., in place of all that the agent's token may
		s.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: arg(1), Privileges: args[2:]}})
	case "grants": // PATH=PRIVILEGE,..., in place of all that the agent's token may
		var acl []pvesim.ACL
		for _, entry := range args[1:] {
			at, privileges, _ := strings.Cut(entry, "=")
			acl = append(acl, pvesim.ACL{Path: at, Privileges: strings.Split(privileges, ",")})
		}
		s.sim.SetPrivileges("gitops@pve!agent", acl)
	case "tags": // ACCESS [TAG...], who may set tags, and the registered tags
		s.sim.SetDatacenter(pvesim.Datacenter{TagAccess: arg(1), RegisteredTags: args[2:]})
	case "readable": // again, all of them
		s.sim.ClearFaults()
	case "switch": // to the other cluster, whose agent has the config away.yaml
		if s.other == nil {
			ts.Check(s.openOther())
		}
		s.sim, s.other = s.other, s.sim
	case "down":
		s.stop()
		s.running.Wait()
	default:
		ts.Fatalf("sim: unknown subcommand %s", args[0])
	}
}

// pairs reads arguments KEY=TEXT.
func pairs(args []string) map[string]string {
	keys := map[string]string{}
	for _, pair := range args {
		key, text, _ := strings.Cut(pair, "=")
		keys[key] = text
	}
	return keys
}

func captureCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("capture: %s matches nothing in stdout", args[1])
	}
	ts.Setenv(args[0], found[1])
}

var markerPattern = regexp.MustCompile(`\bgitops-[0-9a-f]{8}\b`)

// masks are the values that differ between runs.
var masks = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "COMMIT"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "DIGEST"},
	{markerPattern, "MARKER"},
	{regexp.MustCompile(`\b([0-9A-F]{2}:){5}[0-9A-F]{2}\b`), "MAC"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`(tag |is at |  tip |"subject": "|accepted +|refused +|sealed +|in force +)[0-9a-f]{10}\b`), "${1}xxxxxxxxxx"},
	{regexp.MustCompile(`reject [0-9a-f]{7}\b`), "reject xxxxxxx"},
	{regexp.MustCompile(`"logIndex": \d+`), `"logIndex": INDEX`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
}

func maskCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mask FROM TO")
	}
	text := ts.ReadFile(args[0])
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.name)
	}
	text = strings.ReplaceAll(text, stageOf(ts).dir, "WORK")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

func replaceCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE REGEXP TEXT")
	}
	old := ts.ReadFile(args[0])
	text := regexp.MustCompile("(?m)"+args[1]).ReplaceAllString(old, strings.ReplaceAll(args[2], `\n`, "\n"))
	if text == old {
		ts.Fatalf("replace: %s matches nothing in %s", args[1], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func damageCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage DIR")
	}
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.journal"))
	if err != nil || len(files) == 0 {
		ts.Fatalf("damage: got %d files and %v", len(files), err)
	}
	data, err := os.ReadFile(files[0])
	ts.Check(err)
	data[len(data)/3] ^= 1
	ts.Check(os.WriteFile(files[0], data, 0o600))
}

func agentCommand(ts *testscript.TestScript, neg bool, _ []string) {
	if neg {
		ts.Fatalf("usage: agent")
	}
	config, err := agent.ReadConfig(stageOf(ts).path("config.yaml"))
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	a, err := agent.New(ctx, agent.Options{Config: config, Logger: slog.New(slog.DiscardHandler), ClaimWait: claimWait})
	if err != nil {
		cancel()
		ts.Fatalf("start agent: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			ts.Logf("agent: %v", err)
		}
		_ = a.Close()
	})
	ts.Defer(stop)
	stageOf(ts).stopAgent = stop
	ts.Setenv("AGENT", "http://"+a.Address())
}

func stopAgentCommand(ts *testscript.TestScript, neg bool, _ []string) {
	if neg || stageOf(ts).stopAgent == nil {
		ts.Fatalf("usage: stopagent, after agent")
	}
	stageOf(ts).stopAgent()
}

// rekorCommand starts the log in which sign-as-online logs, with its search index, and sets REKOR to its address.
func rekorCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: rekor")
	}
	s := stageOf(ts)
	server := httptest.NewServer(sigtest.RekorServer(func() (*sigtest.Sigstore, error) { return sigtest.Load(s.path("sigstore")) }))
	ts.Defer(server.Close)
	ts.Setenv("REKOR", server.URL)
}
