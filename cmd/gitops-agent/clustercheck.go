package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/planview"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/preflight"
)

// clusterChecker asks a cluster, through a client that cannot write, whether it fits a config and the manifests.
type clusterChecker struct {
	config agent.Config
	log    *slog.Logger
	result *clusterDocument
}

func newClusterChecker(config agent.Config, log *slog.Logger) *clusterChecker {
	return &clusterChecker{config: config, log: log, result: &clusterDocument{
		Checks: []checkView{}, Lacks: []lackView{}, RootOnly: []causeView{}, Grants: []grantView{},
	}}
}

// check looks at everything that can be looked at: one thing that is wrong hides no other.
func (c *clusterChecker) check(ctx context.Context, subject planview.Subject) *clusterDocument {
	c.result.Basis, c.result.Revision = subject.Basis, subject.Revision
	c.result.Token = tokenName(c.config.Proxmox.TokenFile)
	guests, err := reconcile.WantedGuests(subject.Set, subject.State)
	c.result.Guests = len(guests)
	if err != nil {
		c.note("manifests", subject.Revision, "", err)
	}
	c.secrets(guests)
	if !c.endpoints(ctx) {
		return c.result
	}
	reader, err := c.config.ProxmoxReader(c.log)
	if err != nil {
		c.note("endpoint", "", "", err)
		return c.result
	}
	defer reader.Close()
	c.note("quorum", "", "", reader.Ready(ctx))
	permissions, err := reader.Permissions(ctx)
	c.noteFailure("permissions", err)
	granted := preflight.Granted(permissions)
	c.surroundings(ctx, reader, guests, granted)
	if err == nil {
		c.privileges(guests, granted)
	}
	return c.result
}

// note adds the outcome of one look, good where err is nil.
func (c *clusterChecker) note(check, subject, message string, err error) {
	view := checkView{Check: check, Subject: subject, Good: err == nil, Message: message}
	if err != nil {
		view.Message, view.Hint = err.Error(), hintFor(err)
	}
	c.result.Checks = append(c.result.Checks, view)
}

// endpoints asks each endpoint by itself, since reads would pass over one that is down. It reports whether one answered.
func (c *clusterChecker) endpoints(ctx context.Context) bool {
	answered := false
	for _, endpoint := range c.config.Proxmox.Endpoints {
		one := c.config
		one.Proxmox.Endpoints = []string{endpoint}
		version, err := versionOf(ctx, one, c.log)
		c.note("endpoint", endpoint, version, err)
		answered = answered || err == nil
	}
	return answered
}

func versionOf(ctx context.Context, config agent.Config, log *slog.Logger) (string, error) {
	reader, err := config.ProxmoxReader(log)
	if err != nil {
		return "", err
	}
	defer reader.Close()
	version, err := reader.Version(ctx)
	return "Proxmox VE " + version.String(), err
}

// surroundings looks for what the manifests refer to: on the cluster and, as far as it is known what the token may see there, on its nodes.
func (c *clusterChecker) surroundings(ctx context.Context, reader *proxmox.Reader, guests []guest.Desired, granted preflight.Granted) {
	around := preflight.Surroundings{Granted: granted}
	nodes, err := reader.Nodes(ctx)
	c.noteFailure("nodes", err)
	for _, n := range nodes {
		around.Nodes = append(around.Nodes, n.Name)
	}
	around.Storages, err = reader.Storages(ctx)
	c.noteFailure("storages", err)
	around.Pools, err = reader.Pools(ctx)
	c.noteFailure("pools", err)
	around.Inventory, err = reader.Inventory(ctx)
	c.noteFailure("guests", err)
	if err != nil {
		return
	}
	c.strays(preflight.Strays(guests, around))
	if granted != nil {
		c.strays(preflight.Missing(guests, around, ask(ctx, reader, preflight.Lists(guests, around), nodes)))
	}
}

func (c *clusterChecker) strays(strays []preflight.Stray) {
	for _, s := range strays {
		c.result.Checks = append(c.result.Checks, checkView{
			Check: s.What, Subject: s.Name, Unchecked: s.Unchecked, Message: s.Problem, Hint: s.Hint, For: newCauseViews(s.For),
		})
	}
}

func (c *clusterChecker) noteFailure(check string, err error) {
	if err != nil {
		c.note(check, "", "", err)
	}
}

// privileges compares what the token may do with what the manifests need.
func (c *clusterChecker) privileges(guests []guest.Desired, granted preflight.Granted) {
	lacks := preflight.Lacks(guests, granted)
	for _, l := range lacks {
		if l.Privilege == guest.RootPAM {
			c.result.RootOnly = append(c.result.RootOnly, newCauseViews(l.For)...)
			continue
		}
		c.result.Lacks = append(c.result.Lacks, lackView{l.Path, l.Privilege, l.Or, l.OrPath, l.Entry, newCauseViews(l.For)})
	}
	c.result.Grants = newGrantViews(preflight.Grants(lacks, granted), c.result.Token)
}

// secrets looks for the files that manifests name, each once.
func (c *clusterChecker) secrets(guests []guest.Desired) {
	causes := map[string][]preflight.Cause{}
	var names []string
	for _, d := range guests {
		for _, s := range d.Secrets {
			if causes[s.File] == nil {
				names = append(names, s.File)
			}
			causes[s.File] = append(causes[s.File], preflight.Cause{Guest: d.Ref, Key: s.Key, Origin: s.Origin})
		}
	}
	for _, name := range names {
		view := checkView{Check: "secret", Subject: name, Good: true, For: newCauseViews(causes[name])}
		if err := c.config.CheckSecret(name); err != nil {
			view.Good, view.Message, view.Hint = false, err.Error(), hintFor(err)
			var secret *reconcile.SecretError
			if errors.As(err, &secret) {
				view.Message, view.Hint = secret.Reason, secret.Hint
			}
		}
		c.result.Checks = append(c.result.Checks, view)
	}
}

// tokenName returns the name in a token file, never the secret. The file was read before, so that an error shows elsewhere.
func tokenName(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return ""
	}
	name, _, found := strings.Cut(strings.TrimSpace(string(text)), "=")
	if !found {
		return ""
	}
	return name
}
