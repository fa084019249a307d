package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/sandbox"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

const (
	issuer = "https://accounts.sandbox.test"
	// look is the time between two looks at the agent's report.
	look = 100 * time.Millisecond
	// watchEvery is the time between two looks at the user's files.
	watchEvery = 500 * time.Millisecond
	// quiet is how long nothing may happen, and for how many cycles of the agent, until the state counts as final although it is not converged. The
	// agent begins a cycle each second, and later on a busy machine: then the time alone says nothing about it.
	quiet       = 4 * time.Second
	quietCycles = 4
)

// people are the signers of the sandbox: the user, who may do everything, and someone else, since some approvals need two people.
var people = []sandbox.Person{
	{Name: "you", Subject: "you@sandbox.test", Issuer: issuer},
	{Name: "colleague", Subject: "colleague@sandbox.test", Issuer: issuer},
}

// session is one run of the command.
type session struct {
	options
	command

	src source
	log io.Writer
	out printer

	env   *sandbox.Environment
	world world
	shown snapshot // what was committed last

	controls string // URL of the control endpoint, or ""
}

func (s *session) run(ctx context.Context) error {
	content, set, err := s.firstManifests(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	guests, err := set.Lower(nil)
	if err != nil {
		return &statusError{exitRefused, err}
	}
	existing, err := readExisting(s.existing)
	if err != nil {
		return err
	}
	s.world = deriveWorld(guests, existing, set, s.nodes)
	if s.env, err = sandbox.New(ctx, s.temporary, "sandbox", people); err != nil {
		return stopped(ctx, err)
	}
	defer s.env.Close()
	err = s.converge(ctx, content, set.Cluster.Name, guests)
	return stopped(ctx, err)
}

// stopped returns nil in place of an error that follows from Ctrl-C.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// firstManifests returns the first content that can be parsed. Only with --watch it waits for one.
func (s *session) firstManifests(ctx context.Context) (snapshot, manifest.Set, error) {
	var before snapshot
	for {
		content, err := s.src.read(ctx)
		if err != nil {
			return content, manifest.Set{}, err
		}
		set, err := manifest.Parse(s.manifestFiles(content))
		switch {
		case err == nil:
			return content, set, nil
		case !s.watch:
			s.out.refusedManifests(err)
			return content, set, &statusError{exitRefused, errors.New("the agent would refuse these manifests")}
		case before.entries == nil || !content.equal(before):
			s.out.refusedManifests(err)
			s.out.line("waiting for a change of %s", s.path)
		}
		before = content
		if !sleep(ctx, watchEvery) {
			return content, set, ctx.Err()
		}
	}
}

// manifestFiles returns the manifests that the agent would read.
func (s *session) manifestFiles(content snapshot) []manifest.File {
	files := manifestsIn(content, s.paths, false)
	for _, folder := range manifest.Imports(files) {
		if !manifest.InFolders(folder, s.paths) {
			files = append(files, manifestsIn(content, []string{folder}, true)...)
		}
	}
	slices.SortFunc(files, func(a, b manifest.File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(files, func(a, b manifest.File) bool { return a.Path == b.Path })
}

// manifestsIn returns the manifests in some folders, or all of them.
func manifestsIn(content snapshot, folders []string, imported bool) []manifest.File {
	var files []manifest.File
	for name, e := range content.entries {
		if !e.link && isManifest(name) && manifest.InFolders(name, folders) {
			files = append(files, manifest.File{Path: name, Data: e.data, Imported: imported})
		}
	}
	return files
}

// converge starts the cluster and the agent, and follows until the session ends.
func (s *session) converge(ctx context.Context, content snapshot, name string, guests []guest.Desired) error {
	sim, err := s.world.start(s.cluster)
	if err != nil {
		return err
	}
	if err := s.env.StartCluster(sim); err != nil {
		return err
	}
	if s.control != "" {
		if s.controls, err = s.env.StartControl(s.control); err != nil {
			return err
		}
	}
	secrets, err := s.writeSecrets(guests)
	if err != nil {
		return err
	}
	commit, err := s.commit(ctx, content)
	if err != nil {
		return err
	}
	s.out.world(s, content, secretNames(guests))
	opts := sandbox.AgentOptions{Cluster: name, Paths: s.paths, Secrets: secrets, AgeIdentities: s.identities, ImageServers: s.world.servers(), Listen: s.listen, Every: s.every, Log: s.log, Signers: []agent.SignerConfig{
		{Name: "you", Issuer: issuer, Subject: people[0].Subject, May: []string{"change", "approve", "operate", "seal"}},
		{Name: "colleague", Issuer: issuer, Subject: people[1].Subject, May: []string{"approve"}},
	}}
	planned, err := s.env.Plan(opts)
	if err != nil {
		return err
	}
	s.out.plan(planned)
	if err := s.env.StartAgent(opts); err != nil {
		return err
	}
	s.out.addresses(s.env, s.controls)
	outcome, err := s.follow(ctx, commit)
	if err != nil || s.once {
		return errors.Join(err, outcome)
	}
	if s.watch {
		return s.watchTree(ctx)
	}
	s.out.instructions(s.env)
	<-ctx.Done()
	return nil
}

// writeSecrets writes an invented password for each secret that manifests name, and returns the directory.
func (s *session) writeSecrets(guests []guest.Desired) (string, error) {
	dir := s.env.Path("secrets")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	for _, name := range secretNames(guests) {
		err = errors.Join(err, root.WriteFile(name, []byte("sandbox-password\n"), 0o600))
	}
	return dir, err
}

// commit copies the content into the working copy of the sandbox, signs and pushes it.
func (s *session) commit(ctx context.Context, content snapshot) (string, error) {
	if err := content.writeTo(s.env.Repository.Work); err != nil {
		return "", fmt.Errorf("copy %s: %w", s.path, err)
	}
	s.shown = content
	return s.env.Repository.Commit(ctx, nil, "Copy of "+filepath.Base(s.path))
}

// watchTree commits each change of the user's files, and shows what becomes of it.
func (s *session) watchTree(ctx context.Context) error {
	s.out.line("watching %s; Ctrl-C ends the sandbox", s.path)
	pending := s.shown
	for sleep(ctx, watchEvery) {
		if err := s.env.Err(); err != nil {
			return err
		}
		content, err := s.src.read(ctx)
		if err != nil || content.equal(s.shown) {
			continue // a directory that is being replaced is there again soon
		}
		if !content.equal(pending) {
			pending = content // perhaps not saved completely
			continue
		}
		s.noteMissing(content)
		commit, err := s.commit(ctx, content)
		if err != nil {
			return err
		}
		s.out.line("")
		s.out.line("%s changed: committed as %.7s", s.path, commit)
		if _, err := s.follow(ctx, commit); err != nil {
			return err
		}
	}
	return nil
}

// noteMissing prints what changed manifests name and the running cluster does not have. It publishes the files of new Images.
func (s *session) noteMissing(content snapshot) {
	set, err := manifest.Parse(s.manifestFiles(content))
	if err != nil {
		return // the agent refuses it
	}
	guests, err := set.Lower(nil)
	if err != nil {
		return
	}
	publish(s.env.Sim, set.Images)
	next := deriveWorld(guests, nil, set, s.nodes)
	var missing []string
	for _, names := range []struct {
		what      string
		has, want []string
	}{{"node", s.world.nodes, next.nodes}, {"storage", s.world.storages, next.storages}, {"bridge", s.world.bridges, next.bridges}, {"volume", s.world.volumes, next.volumes}, {"pool", s.world.pools, next.pools}, {"server of Images", s.world.servers(), next.servers()}} {
		for _, name := range names.want {
			if !slices.Contains(names.has, name) {
				missing = append(missing, names.what+" "+name)
			}
		}
	}
	if len(missing) > 0 {
		s.out.note("the running cluster does not have: %s; start the sandbox again to add it", strings.Join(missing, ", "))
	}
}

// follow prints what the agent does until the state is final, and returns as its first result why that is not convergence.
func (s *session) follow(ctx context.Context, commit string) (outcome, err error) {
	started, last := time.Now(), change{at: time.Now()}
	progress := map[string]string{}
	for {
		if err := s.env.Err(); err != nil {
			return nil, err
		}
		r := s.env.Agent.Report()
		if inForce(r, commit) && s.out.progress(r, progress) {
			last = change{time.Now(), r.Cycle}
		}
		switch outcome, final := judge(r, commit, last.isOver(time.Now(), r.Cycle)); {
		case final:
			s.out.state(s.env, r, commit)
			return outcome, nil
		case s.once && time.Since(started) > s.timeout:
			s.out.state(s.env, r, commit)
			return &statusError{exitTimeout, fmt.Errorf("not finished in %s", s.timeout)}, nil
		}
		if !sleep(ctx, look) {
			return nil, ctx.Err()
		}
	}
}

// inForce reports whether the agent accepted the commit.
func inForce(r report.Report, commit string) bool {
	return r.Source.Accepted != nil && r.Source.Accepted.Commit == commit
}

// change is when the agent reported a change last.
type change struct {
	at    time.Time
	cycle uint64
}

// isOver reports whether the agent has had time and cycles enough to change more.
func (c change) isOver(now time.Time, cycle uint64) bool {
	return now.Sub(c.at) > quiet && cycle >= c.cycle+quietCycles
}

// judge reports whether the state is final, and why it is not convergence. A state that is not converged is final once it is at rest.
func judge(r report.Report, commit string, rests bool) (outcome error, final bool) {
	if refused := r.Source.Refused; refused != nil && refused.Commit == commit {
		return &statusError{exitRefused, errors.New("the agent refuses the manifests: " + refused.Error)}, true
	}
	if !inForce(r, commit) {
		return nil, false
	}
	var waiting []string
	if r.Guards != nil && len(r.Guards.Held) > 0 {
		waiting = append(waiting, "guards that wait for an approval")
	}
	busy := r.QueueDepth > 0
	for _, g := range r.Guests {
		busy = busy || g.Operation == report.Busy
		if needsPerson(g) {
			waiting = append(waiting, g.Label())
		}
	}
	switch {
	case r.Converged && len(waiting) == 0 && r.Except != nil:
		return &statusError{exitPending, fmt.Errorf("in sync %s: %s", r.Except, strings.Join(r.Except.Guests, ", "))}, true
	case r.Converged && len(waiting) == 0:
		return nil, true
	}
	return &statusError{exitPending, fmt.Errorf("not converged: %s", strings.Join(waiting, ", "))}, !busy && rests
}

// needsPerson reports whether a guest stays as it is, and not in sync, until someone does something.
func needsPerson(g report.Guest) bool {
	return g.Sync != report.Synced || len(g.Held) > 0 || slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool {
		return c.Type == plan.Failed || c.Type == plan.Blocked || c.Type == plan.PendingRestart
	})
}

// sleep waits, and returns false if ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
