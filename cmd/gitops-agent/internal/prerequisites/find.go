package prerequisites

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/preflight"
)

// Options state what is checked.
type Options struct {
	Guests         []guest.Desired
	Images         []image.Desired    // of all manifests: a guest waits for their files
	Made           []guest.Desired    // the guests of all manifests, also those that stay as they are: a clone waits for its template
	Inventory      *cluster.Inventory // nil reads it
	Changing       []kind.Desired     // objects other than guests that are checked
	ChangingImages []image.Desired    // Images that are checked
	Takings        []plan.Taking      // what the plan takes of storages for guests that exist
	Objects        []kind.Desired     // of all manifests, also those that stay as they are: the agent makes what a guest refers to
	// Writer is the token with which the agent writes, "user@realm!name", if the client reads with another one. Its privileges are compared with those
	// that the guests need.
	Writer string
	// OnlyNeeded leaves out lists that none of the guests needs, and the privileges of a token that may only read: it is not the agent's.
	OnlyNeeded bool
}

// Found is what would prevent the manifests from being applied.
type Found struct {
	Unresolved []preflight.Unresolved
	Larger     map[guest.Ref][]guest.Larger // volumes of new guests that are larger than their manifests ask for, because those of their sources are
	Granted    preflight.Granted            // privileges of the token that writes; nil if they are not known
	ReadOnly   bool                         // the token may only read, so the agent writes with another one, which is not known
	Failures   []Failure                    // of reading
}

// Failure is something that could not be read, so that it was not checked.
type Failure struct {
	Check string // permissions, nodes, storages, pools, tags, guests, templates, firewall
	Err   error
}

// objectPaths are where privileges are granted on what a manifest names.
var objectPaths = map[string]string{"node": "/nodes/", "storage": "/storage/", "pool": "/pool/"}

// Missing returns the privileges that the token that writes does not have, nil if its privileges are not known. Those on a node, a storage or a pool that does not
// exist are left out: its name is the mistake.
func (f Found) Missing(guests []guest.Desired, images []image.Desired, former []image.Former, objects []kind.Desired) []preflight.MissingPrivilege {
	if f.Granted == nil {
		return nil
	}
	return slices.DeleteFunc(preflight.MissingPrivileges(guests, images, former, objects, f.Granted), func(p preflight.MissingPrivilege) bool {
		return slices.ContainsFunc(f.Unresolved, func(u preflight.Unresolved) bool { return u.Absent && p.Path == objectPaths[u.What]+u.Name })
	})
}

// Find reads the cluster and returns what the guests need and the cluster does not have.
func Find(ctx context.Context, reader *proxmox.Reader, opts Options) Found {
	s := &survey{reader: reader, opts: opts, around: preflight.ClusterContext{Objects: opts.Objects, Images: opts.Images, Made: opts.Made, Changing: opts.Changing, ChangingImages: opts.ChangingImages, Takings: opts.Takings}}
	s.readCluster(ctx)
	if s.writer != nil {
		s.found.Unresolved = append(s.found.Unresolved, preflight.RestrictedTags(opts.Guests, s.tags, s.writer)...)
	}
	s.found.Granted = s.writer
	if !s.listed {
		return s.found
	}
	if !opts.OnlyNeeded { // a plan tells itself which clones are not made
		s.readTemplates(ctx)
	}
	s.readFirewalls(ctx)
	s.around.Contents = contents(ctx, reader, preflight.Sources(opts.Guests, s.around), s.nodes, s.around.Templates)
	s.found.Larger = preflight.LargerInSources(opts.Guests, s.around)
	s.found.Unresolved = append(s.found.Unresolved, preflight.UnresolvedOnCluster(opts.Guests, s.around)...)
	if s.around.Granted != nil {
		answers := ask(ctx, reader, preflight.Lists(opts.Guests, s.around), s.nodes)
		s.found.Unresolved = append(s.found.Unresolved, preflight.UnresolvedOnNodes(opts.Guests, s.around, answers)...)
	}
	return s.found
}

// survey is one reading of a cluster.
type survey struct {
	reader *proxmox.Reader
	opts   Options
	found  Found
	around preflight.ClusterContext
	writer preflight.Granted
	tags   preflight.TagRules
	nodes  []cluster.Node
	listed bool // the guests of the cluster are known
}

// readTemplates reads the templates of the clones that do not exist yet.
func (s *survey) readTemplates(ctx context.Context) {
	vmids := slices.DeleteFunc(plan.Templates(s.opts.Guests, s.around.Inventory), func(vmid int) bool {
		row, _ := s.around.Inventory.Row(vmid)
		return slices.Contains(s.around.Inventory.Offline, row.Node)
	})
	s.around.Templates = readEach(s, "templates", vmids, func(vmid int) (guest.Observed, error) {
		row, _ := s.around.Inventory.Row(vmid)
		template, err := s.reader.Observe(ctx, row)
		if err != nil {
			err = fmt.Errorf("read the template %d: %w", vmid, err)
		}
		return template, err
	})
}

// readFirewalls reads the names to which firewalls refer and that no manifest describes.
func (s *survey) readFirewalls(ctx context.Context) {
	lists, own := preflight.FirewallLists(s.opts.Guests, s.around)
	s.around.Firewall.Lists = readEach(s, checkFirewall, lists, func(of guest.Kind) ([]string, error) { return s.reader.FirewallNames(ctx, of) })
	s.around.Firewall.Own = readEach(s, checkFirewall, own, func(vmid int) (guest.FirewallSeen, error) {
		row, _ := s.around.Inventory.Row(vmid)
		seen, err := s.reader.Firewall(ctx, row, true)
		if err != nil {
			err = fmt.Errorf("read the firewall of guest %d: %w", vmid, err)
		}
		return seen, err
	})
}

const checkFirewall = "firewall"

// readEach asks each question, and returns the answers. An error is a Failure of the check.
func readEach[Q comparable, A any](s *survey, check string, questions []Q, read func(Q) (A, error)) map[Q]A {
	type reading struct {
		answer A
		err    error
	}
	readings := askEach(questions, func(q Q) (r reading) {
		r.answer, r.err = read(q)
		return r
	})
	answers := make(map[Q]A)
	for _, q := range questions {
		if r := readings[q]; r.err != nil {
			s.found.Failures = append(s.found.Failures, Failure{check, r.err})
		} else {
			answers[q] = r.answer
		}
	}
	return answers
}

// question is one read of the cluster.
type question struct {
	check string
	skip  bool
	read  func(ctx context.Context) error
	err   error
}

// readCluster asks what does not depend on other answers, at the same time.
func (s *survey) readCluster(ctx context.Context) {
	questions := s.questions()
	var asked sync.WaitGroup
	for _, q := range questions {
		if !q.skip {
			asked.Go(func() { q.err = q.read(ctx) })
		}
	}
	asked.Wait()
	for _, q := range questions {
		if q.err != nil {
			s.found.Failures = append(s.found.Failures, Failure{q.check, q.err})
		}
	}
	for _, n := range s.nodes {
		s.around.Nodes = append(s.around.Nodes, n.Name)
	}
	switch {
	case s.opts.Writer != "":
	case s.opts.OnlyNeeded && s.around.Granted != nil && s.around.Granted.IsReadOnly():
		s.found.ReadOnly = true
	default:
		s.writer = s.around.Granted
	}
}

func (s *survey) questions() []*question {
	needed := func(uses bool) bool { return uses || !s.opts.OnlyNeeded }
	storages, pools := preflight.UsesOfObjects(s.opts.Changing)
	list := []*question{
		{check: "permissions", read: func(ctx context.Context) error {
			granted, err := s.reader.Permissions(ctx)
			s.around.Granted = preflight.Granted(granted)
			return err
		}},
		{check: "permissions", skip: s.opts.Writer == "", read: func(ctx context.Context) error {
			granted, err := s.reader.PermissionsOf(ctx, s.opts.Writer)
			s.writer = preflight.Granted(granted)
			return err
		}},
		{check: "nodes", read: func(ctx context.Context) (err error) {
			s.nodes, err = s.reader.Nodes(ctx)
			return err
		}},
		{check: "storages", skip: !needed(storages || len(s.opts.ChangingImages) > 0 || preflight.UsesStorages(s.opts.Guests)), read: func(ctx context.Context) (err error) {
			s.around.Storages, err = s.reader.StorageConfigs(ctx)
			return err
		}},
		{check: "pools", skip: !needed(pools || preflight.UsesPools(s.opts.Guests)), read: func(ctx context.Context) (err error) {
			s.around.Pools, err = s.reader.Pools(ctx)
			return err
		}},
		{check: "tags", read: func(ctx context.Context) error {
			rules, err := s.reader.TagRules(ctx)
			s.tags = preflight.TagRules(rules)
			return err
		}},
	}
	if s.opts.Inventory != nil {
		s.around.Inventory, s.listed = *s.opts.Inventory, true
		return list
	}
	return append(list, &question{check: "guests", read: func(ctx context.Context) (err error) {
		s.around.Inventory, err = s.reader.Inventory(ctx)
		s.listed = err == nil
		return err
	}})
}
