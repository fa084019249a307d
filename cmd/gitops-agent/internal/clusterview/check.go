package clusterview

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/prerequisites"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/preflight"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/writer"
)

// Options are the config of an agent, and the manifests that the cluster is checked for.
type Options struct {
	Config agent.Config
	Logger *slog.Logger
	Hint   func(error) string // returns the remedy for an error, or ""

	Basis       string // where the manifests come from; "" without manifests
	Revision    string // of the manifests, or their directory
	Description string // of both, for people
	Manifests   manifest.Set
	State       journal.State // of the agent's journal

	Progress *term.Progress
}

// checker compares a cluster with a config and the manifests. Its client cannot write.
type checker struct {
	Options
	result *Document
}

// Check compares a cluster, and the remotes, with a config and the manifests. It reads them and writes nothing. Every check runs, also after others fail,
// unless no endpoint answers.
func Check(ctx context.Context, opts Options) *Document {
	c := checker{Options: opts, result: &Document{
		Basis: opts.Basis, Revision: opts.Revision, Token: tokenName(opts.Config.Proxmox.TokenFile),
		Checks: []checkView{}, Lacks: []lackView{}, RootOnly: []preflight.Cause{}, Grants: []grantView{}, description: opts.Description,
	}}
	c.check(ctx)
	return c.result
}

func (c *checker) check(ctx context.Context) {
	guests, err := plan.WantedGuests(c.Manifests, c.State)
	c.result.Guests = len(guests)
	if err != nil {
		c.note("manifests", c.Revision, "", err)
	}
	c.secrets(guests)
	before := slices.Clone(c.result.Checks)
	answered := c.endpoints(ctx)
	endpoints := c.result.Checks[len(before):]
	c.result.Checks = before // the remotes are printed first, and the floor in the cluster decides about their tip
	c.remotes(ctx, c.floor(ctx, answered))
	c.result.Checks = append(c.result.Checks, endpoints...)
	if !answered {
		return
	}
	reader, err := c.Config.ProxmoxReader(c.Logger)
	if err != nil {
		c.note("endpoint", "", "", err)
		return
	}
	defer reader.Close()
	c.note("quorum", "", "", reader.Ready(ctx))
	found := prerequisites.Find(ctx, reader, prerequisites.Options{Guests: guests, Made: guests, Changing: c.Manifests.Objects, ChangingImages: c.Manifests.Images, Images: c.Manifests.Images, Objects: c.Manifests.Objects})
	for _, f := range found.Failures {
		c.note(f.Check, "", "", f.Err)
	}
	c.strays(found.Unresolved)
	if found.Granted != nil {
		c.strays(preflight.Shadowed(found.Granted))
		c.privileges(found.Missing(guests, c.Manifests.Images, plan.Images{Wanted: c.Manifests.Images, Downloaded: c.State.Downloaded}.Removed(), c.Manifests.Objects), found.Granted)
	}
}

// note adds the result of a check, which is good if err is nil.
func (c *checker) note(check, subject, message string, err error) {
	view := checkView{Check: check, Subject: subject, Good: err == nil, Message: message}
	if err != nil {
		view.Message, view.Hint = err.Error(), c.Hint(err)
	}
	c.result.Checks = append(c.result.Checks, view)
}

// floor returns the newest revision that was ever accepted for the cluster. It returns none if the comment cannot be read: another check then reports what is
// wrong with the token, or the agent with the comment.
func (c *checker) floor(ctx context.Context, answered bool) writer.Floor {
	if !answered {
		return writer.Floor{}
	}
	reader, err := c.Config.ProxmoxReader(c.Logger)
	if err != nil {
		return writer.Floor{}
	}
	defer reader.Close()
	text, found, err := reader.PoolComment(ctx, writer.Pool)
	if err != nil || !found {
		return writer.Floor{}
	}
	comment, err := writer.Parse(text)
	if err != nil {
		return writer.Floor{}
	}
	return comment.Floor
}

// endpoints reads the version from each endpoint separately, because a client with all endpoints skips those that are down. It reports whether
// at least one answered.
func (c *checker) endpoints(ctx context.Context) bool {
	answered := false
	for _, endpoint := range c.Config.Proxmox.Endpoints {
		one := c.Config
		one.Proxmox.Endpoints = []string{endpoint}
		version, err := versionOf(ctx, one, c.Logger)
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

func (c *checker) strays(strays []preflight.Unresolved) {
	for _, s := range strays {
		c.result.Checks = append(c.result.Checks, checkView{
			Check: s.What, Subject: s.Name, Good: s.Warning, Warning: s.Warning, Unchecked: s.Unchecked, Message: s.Problem, Hint: s.Hint, For: s.For,
		})
	}
}

// privileges notes the privileges that the token does not have, and what would grant them.
func (c *checker) privileges(lacks []preflight.MissingPrivilege, granted preflight.Granted) {
	for _, l := range lacks {
		if l.Privilege == guest.RootPAM {
			c.result.RootOnly = append(c.result.RootOnly, l.For...)
			continue
		}
		c.result.Lacks = append(c.result.Lacks, lackView{l.Path, l.Privilege, l.Or, l.OrPath, l.Entry, l.For})
	}
	c.result.Grants = newGrantViews(preflight.Grants(lacks, granted), c.result.Token)
}

// secrets checks the files that manifests name, each once.
func (c *checker) secrets(guests []guest.Desired) {
	causes := map[string][]preflight.Cause{}
	var secrets []guest.Secret
	for _, d := range guests {
		for _, s := range d.Secrets {
			if causes[s.File] == nil {
				secrets = append(secrets, s)
			}
			causes[s.File] = append(causes[s.File], preflight.Cause{Guest: d.Ref, Key: s.Key, Origin: s.Origin})
		}
	}
	for _, s := range secrets {
		view := checkView{Check: "secret", Subject: s.File, Good: true, For: causes[s.File]}
		if err := c.Config.CheckSecret(s); err != nil {
			view.Good, view.Message, view.Hint = false, err.Error(), c.Hint(err)
			var secret *secret.Error
			if errors.As(err, &secret) {
				view.Message, view.Hint = secret.Reason, secret.Hint
			}
		}
		c.result.Checks = append(c.result.Checks, view)
	}
}

// tokenName returns the name in a token file, never the secret. It returns "" for a file that cannot be read; the endpoint checks report that.
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
