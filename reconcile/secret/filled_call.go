package secret

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
)

// FilledCall is a call as it is sent.
type FilledCall struct {
	Call         cluster.Call
	Fingerprints map[string]string // fingerprints of the secrets in it, by key
	texts        []string          // that no message may repeat
}

// Hide takes what was secret in the call out of what Proxmox said of its task, which ends in the journal and on the status page.
func (f FilledCall) MaskTask(task cluster.Task) cluster.Task {
	if len(f.texts) == 0 {
		return task
	}
	task.Exit, task.LogTail, task.Err = f.mask(task.Exit), f.mask(task.LogTail), f.MaskError(task.Err)
	task.Warnings = slices.Clone(task.Warnings)
	for i, warning := range task.Warnings {
		task.Warnings[i] = f.mask(warning)
	}
	return task
}

// HideIn does the same to an error, which stays what it is to callers.
func (f FilledCall) MaskError(err error) error {
	if err == nil || f.mask(err.Error()) == err.Error() {
		return err
	}
	return maskedError{f.mask(err.Error()), err}
}

func (f FilledCall) mask(text string) string {
	for _, secret := range f.texts {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	return text
}

// maskedError is an error without the secrets in its text.
type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }

func (e maskedError) Unwrap() error { return e.err }
