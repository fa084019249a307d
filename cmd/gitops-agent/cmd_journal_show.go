package main

import (
	"context"
	"io"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/journalview"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	"github.com/spf13/cobra"
)

type journalShowOptions struct {
	journalOptions
	guest, revision, signer, step, since, until string
}

// flags adds the flags that select records, and their completion.
func (o *journalShowOptions) flags(cmd *cobra.Command, p *program) {
	cmd.Flags().StringVar(&o.guest, "guest", "", "records of this `guest`: KIND/NAME or a vmid")
	cmd.Flags().StringVar(&o.revision, "revision", "", "records of the revision whose `commit` id begins so")
	cmd.Flags().StringVar(&o.signer, "signer", "", "records of what this `signer` signed: a subject, or a name in the trust policy")
	cmd.Flags().StringVar(&o.step, "step", "", "records of steps with this `operation` or class, or whose id or digest begins so")
	cmd.Flags().StringVar(&o.since, "since", "", "records from this `time` on, in RFC 3339, or a duration before now such as 24h")
	cmd.Flags().StringVar(&o.until, "until", "", "records before this `time`, in RFC 3339, or a duration before now such as 1h")
	complete := map[string]func() []string{
		"step":   stepWords,
		"guest":  func() []string { return o.seen(p).Guests },
		"signer": func() []string { return o.seen(p).Signers },
	}
	for flag, words := range complete {
		err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words(), cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic(err) // a flag that does not exist is a mistake in this file
		}
	}
}

// seen returns the guests and signers of the journal, for completion. It returns none if the journal cannot be read.
func (o *journalShowOptions) seen(p *program) journalview.Words {
	o.config = p.config
	var words journalview.Words
	_ = o.read(context.Background(), func(source journalview.Source) error {
		words = journalview.ReadWords(source)
		return nil
	})
	return words
}

// stepWords returns the operations and classes of steps.
func stepWords() []string {
	var words []string
	for _, op := range cluster.Ops() {
		words = append(words, string(op))
	}
	for _, class := range guest.Classes() {
		words = append(words, string(class))
	}
	return words
}

// filter returns the flags as a filter.
func (o *journalShowOptions) filter(now time.Time) (journalview.Filter, error) {
	f := journalview.Filter{Guest: o.guest, Revision: o.revision, Step: o.step}
	if o.signer != "" {
		f.Signers = []string{o.signer}
	}
	var err error
	if f.Since, err = parseBefore("--since", o.since, now); err != nil {
		return f, err
	}
	if f.Until, err = parseBefore("--until", o.until, now); err != nil {
		return f, err
	}
	if !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, term.UsageErrorf("--since %s is not before --until %s", o.since, o.until)
	}
	return f, nil
}

// parseBefore reads a time in RFC 3339, or a duration before now. The empty text is the zero time.
func parseBefore(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, term.UsageErrorf("%s %q: want a time such as 2026-03-01T06:00:00Z, or a duration before now such as 24h", flag, text)
	}
	return now.Add(-d), nil
}

// alsoCalled returns the subjects of the signer's name in the trust policy and the names of the signer's subject, because some records contain the one and
// some the other. It returns none with --dir, which may be the journal of another agent.
func (o *journalShowOptions) alsoCalled() []string {
	if o.signer == "" || o.dir != "" {
		return nil
	}
	config, err := readConfig(o.config)
	if err != nil {
		return nil // the journal was read by this config
	}
	var names []string
	for _, s := range config.Trust.Signers {
		switch {
		case strings.EqualFold(s.Name, o.signer) && s.Subject != "":
			names = append(names, s.Subject)
		case strings.EqualFold(s.Subject, o.signer):
			names = append(names, s.Name)
		}
	}
	return names
}

func runJournalShow(ctx context.Context, out io.Writer, opts journalShowOptions, now time.Time) error {
	filter, err := opts.filter(now)
	if err != nil {
		return err
	}
	return opts.read(ctx, func(source journalview.Source) error {
		filter.Signers = append(filter.Signers, opts.alsoCalled()...)
		return journalview.Show(out, journalview.ShowOptions{Source: source, Filter: filter, JSON: opts.output == outputJSON})
	})
}
