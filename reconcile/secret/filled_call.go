package secret

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
)

// FilledCall is a call with the contents of its secrets, as it is sent.
type FilledCall struct {
	Call         cluster.Call
	Fingerprints map[string]string // of the secrets in the call, by key
	texts        []string          // contents that no message may repeat
}

// MaskTask returns the task with "<secret>" in place of the secrets of the call. The texts of a task reach the journal and the status page.
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

// MaskError returns an error with "<secret>" in place of the secrets of the call. The error still matches the same targets of errors.Is and errors.As.
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

// maskedError is an error whose text does not contain the secrets.
type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }

func (e maskedError) Unwrap() error { return e.err }
