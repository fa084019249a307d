package audit

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/attest"
	"gitops-agent/verify"
)

// Options are the subject of an audit and the signers that it accepts.
type Options struct {
	Repository  Repository
	Trust       Trust
	Evidence    Evidence
	Attested    Attestations
	Revision    string                       // a commit, a tag or a range A..B; "" is HEAD
	Paths       bool                         // find a file that each refused commit changes, for WriteSARIF
	Explain     bool                         // find what the remedies of Result.WriteText need
	Sides       bool                         // verify the commits of side branches too
	Who         bool                         // find who signed, without a policy, for RunWho
	SinceAnchor bool                         // verify everything after the config's trust.anchor, up to Revision
	ReadConfig  func() (agent.Config, error) // called unless Trust names a root and signers
	Listing     Listing                      // the verdicts to print
	Progress    *term.Progress               // Run ends it
	Warn        func(text string)            // called for each warning
	Note        func(text string)            // shows what is worth knowing and no problem
}

// An Audit verifies the commits of an open repository.
type Audit struct {
	auditor
	repository openRepository
	remote     bool
	paths      bool
	explain    bool
	revision   string
	listing    Listing
	progress   *term.Progress
	warn       func(text string)
	resource   string // URI of the repository, or ""

	attestations *attest.Reader // nil if none were asked for

	base verify.Base // what the agent accepted last, or the anchor; zero if neither is known here
}

// Open reads the trust settings and opens the repository; a remote repository is fetched first. The caller closes the Audit.
func Open(ctx context.Context, opts Options) (_ *Audit, err error) {
	defer func() {
		if err != nil {
			opts.Progress.End()
		}
	}()
	if err := errors.Join(opts.Listing.check(), opts.Attested.check()); err != nil {
		return nil, err
	}
	opts.Progress.Show("opening the repository")
	settings, err := opts.settings(ctx)
	if err != nil {
		return nil, err
	}
	revision, err := opts.subject(settings)
	if err != nil {
		return nil, err
	}
	repo, err := opts.Repository.open(ctx, settings.config, opts.Progress)
	if err != nil {
		return nil, err
	}
	found, err := opts.Evidence.open(ctx, repo, func(n int) { opts.Progress.Show("asking the log, %d", n) })
	if err != nil {
		return nil, errors.Join(err, repo.close())
	}
	settings = settings.withEvidence(found)
	attestations, err := opts.Attested.open(ctx, repo)
	if err != nil {
		return nil, errors.Join(err, repo.close())
	}
	return &Audit{
		attestations: attestations, base: settings.base(),
		auditor: auditor{
			repo: repo.Repository, judge: settings.judge, policy: settings.policy,
			done:   opts.Progress.Count("verified"),
			walked: opts.Progress.Count("reading the history: commit"),
			note:   opts.Progress.Show, sides: opts.Sides,
		},
		repository: repo, remote: isRemote(opts.Repository.Where), paths: opts.Paths, explain: opts.Explain, listing: opts.Listing,
		revision: revision, progress: opts.Progress, warn: opts.Warn, resource: resourceOf(opts.Repository.Where, settings.config),
	}, nil
}

// Close removes the fetched repository.
func (a *Audit) Close() error { return a.repository.close() }

// Run verifies the revision. Its error is about the whole audit, such as an unknown revision; refusals are in the Result.
func (a *Audit) Run(ctx context.Context) (Result, error) {
	defer a.progress.End()
	chosen, err := a.chosen(ctx)
	if err != nil {
		return Result{}, err
	}
	verdicts, missed, err := a.audit(ctx, chosen)
	if err != nil {
		return Result{}, err
	}
	if err := a.refuseBranch(ctx, chosen, verdicts); err != nil {
		return Result{}, err
	}
	if a.paths {
		a.locate(ctx, verdicts)
	}
	if a.explain {
		a.measure(ctx, verdicts)
	}
	if err := a.warnAboutTarget(ctx, chosen, verdicts); err != nil {
		return Result{}, err
	}
	if err := a.attest(ctx, verdicts); err != nil {
		return Result{}, err
	}
	document := newDocument(a.revision, verdicts)
	document.NotAudited = missed.view()
	return Result{
		document: document, listing: a.listing,
		subject: vsaSubject(chosen), isRange: chosen.tip != "", resource: a.resource, policy: a.policy.Digest(),
	}, nil
}

// chosen finds the objects to verify. It fetches the tag of a remote that the revision names.
func (a *Audit) chosen(ctx context.Context) (selection, error) {
	chosen, err := a.choose(ctx, a.revision)
	if errors.Is(err, gitsource.ErrNotFound) && a.repository.fetchTag(ctx, a.revision) {
		chosen, err = a.choose(ctx, a.revision)
	}
	switch {
	case !errors.Is(err, gitsource.ErrNotFound):
	case a.remote:
		err = term.WithHint(err, "name a commit of the branch that --branch names, or a tag of the remote")
	case a.repo.Lacks() == "":
		err = term.WithHint(err, "the repository does not have it: name a branch, a tag or a commit of it, and fetch first what only the remote has")
	}
	if err != nil {
		return selection{}, err
	}
	return chosen, a.warnAboutNames()
}

// warnAboutTarget warns if the newest commit is accepted here, where only its signature counts, and the agent would refuse it as the tip of its branch.
func (a *Audit) warnAboutTarget(ctx context.Context, chosen selection, verdicts []verdict) error {
	if len(chosen.commits) == 0 {
		return nil
	}
	newest := chosen.commits[len(chosen.commits)-1]
	if !slices.ContainsFunc(verdicts, func(v verdict) bool { return v.Object == newest && v.Accepted }) {
		return nil
	}
	err := a.policy.TipProblem(ctx, a.repo, newest)
	if rejected := new(verify.RejectedError); errors.As(err, &rejected) {
		a.warn(fmt.Sprintf("the signature is accepted, and the agent would still refuse %s as the tip of its branch: %v", a.revision, err))
		return nil
	}
	return err
}

// warnAboutNames warns about each name in the revision that several refs have, as git does.
func (a *Audit) warnAboutNames() error {
	from, to, _ := cutRange(a.revision)
	for _, name := range []string{from, to} {
		refs, err := a.repo.Refs(name)
		if err != nil {
			return err
		}
		if len(refs) > 1 {
			a.warn(fmt.Sprintf("%q is ambiguous: it is %s; the first one is verified", name, strings.Join(refs, " and ")))
		}
	}
	return nil
}

// settings returns the trust settings.
func (o Options) settings(ctx context.Context) (trustSettings, error) {
	if o.Who {
		return o.Trust.readRoot(o.ReadConfig)
	}
	return o.Trust.read(ctx, o.ReadConfig, o.Note)
}

// subject returns the revision or range to verify.
func (o Options) subject(settings trustSettings) (string, error) {
	revision := cmp.Or(o.Revision, "HEAD")
	_, _, isRange := cutRange(revision)
	if o.Sides && !isRange && !o.SinceAnchor {
		return "", term.UsageErrorf("--side-branches needs a range: name A..B")
	}
	if !o.SinceAnchor {
		return revision, nil
	}
	anchor := settings.config.Trust.Anchor
	switch {
	case isRange:
		return "", term.UsageErrorf("--since-anchor and a range exclude each other")
	case o.Trust.Root != "":
		return "", term.UsageErrorf("--since-anchor needs a config, which has the anchor; name a range A..B instead")
	case anchor == "":
		return "", term.WithHint(errors.New("the config has no trust.anchor"), "name a range instead: gitops-agent verify A..B")
	}
	return anchor + ".." + revision, nil
}

// A Result is the outcome of an audit.
type Result struct {
	document Document
	listing  Listing

	subject  []attest.Resource // what a summary is about
	isRange  bool
	resource string            // URI of the repository, or ""
	policy   [sha256.Size]byte // digest of the policy
}

// Document returns the JSON result, with the selected verdicts.
func (r Result) Document() Document {
	d := r.document
	for _, v := range r.listing.selected(r.document) {
		d.Verdicts = append(d.Verdicts, v)
	}
	return d
}

// WriteJSON prints the Document, verdict by verdict, so that a long range needs no copy of it.
func (r Result) WriteJSON(out io.Writer) error {
	buffered := bufio.NewWriter(out)
	list, err := term.NewJSONListOf(buffered, r.document)
	if err != nil {
		return err
	}
	for _, v := range r.listing.selected(r.document) {
		if err := list.Add(v); err != nil {
			return err
		}
	}
	if err := list.Close(); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// WriteText prints the verdicts and the totals and, if explain is set, the reason and the remedy of each refusal.
func (r Result) WriteText(out io.Writer, explain bool) {
	writeVerdicts(out, r.document, r.listing)
	writeIgnored(out, r.document, r.listing, explain)
	writePromotions(out, r.document, r.listing)
	writeAttestations(out, r.document, r.listing)
	if explain {
		writeExplanations(out, r.document, r.listing)
	}
	if len(r.document.all) > 1 || explain && r.document.Accepted < len(r.document.all) { // more than one table precedes the totals
		_, _ = fmt.Fprintln(out)
	}
	writeTotals(out, r.document, r.listing)
	writeNotAudited(out, r.document.NotAudited)
}

// WriteSARIF prints the refusals as a SARIF log. version is the version of this program.
func (r Result) WriteSARIF(out io.Writer, version string) error {
	var selected []verdict
	for i := range r.listing.selected(r.document) {
		if !r.document.all[i].Accepted { // no result, and a long range has many
			selected = append(selected, r.document.all[i])
		}
	}
	return term.WriteJSON(out, newSARIF(version, selected, r.document.NotAudited))
}

// Err returns the reason why an object could not be read, or an error with the status ExitRefused if a commit or tag is refused, or nil.
func (r Result) Err() error { return cmp.Or(r.readError(), r.document.outcome()) }

// readError returns the reason why an object could not be read. Such an object has no verdict.
func (r Result) readError() error {
	for _, v := range r.document.all {
		if v.Err != nil && !errors.As(v.Err, new(*verify.RejectedError)) {
			return v.Err
		}
	}
	return nil
}
