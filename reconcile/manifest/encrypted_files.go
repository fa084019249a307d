package manifest

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// EncryptedFile is an encrypted file of the repository, or the reason why there is none.
type EncryptedFile struct {
	Data    []byte
	Problem string
}

// EncryptedFiles returns the paths of the encrypted files to which passwords refer, sorted.
func (s Set) EncryptedFiles() []string {
	paths := make(map[string]bool)
	for _, g := range s.Guests {
		for _, secret := range g.desired.Secrets {
			if p := secret.Encrypted.Path; p != "" {
				paths[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// WithEncrypted returns the set with the contents of its encrypted files, by path, and with the problems that are seen without the key. A
// problem concerns the guests that refer to the file, and no other. The error is a *Problems about characters of files of SOPS that people do not see. They are
// warnings if ParseAccepted or ParseEarlier made the set.
func (s Set) WithEncrypted(files map[string]EncryptedFile) (Set, error) {
	s.Guests, s.Secrets = slices.Clone(s.Guests), nil
	r := &report{ofAccepted: s.accepted}
	for i := range s.Guests {
		g := &s.Guests[i]
		g.desired.Secrets = slices.Clone(g.desired.Secrets)
		for k := range g.desired.Secrets {
			secret := &g.desired.Secrets[k]
			e := &secret.Encrypted
			if e.Path == "" {
				continue
			}
			file := files[e.Path]
			e.Content, e.Problem = string(file.Data), file.Problem
			if e.Format == string(encrypted.SOPS) {
				r.addTree(tree.Invisible(e.Path, file.Data))
			}
			if problem := checkEncrypted(*e); problem != nil {
				s.Secrets = append(s.Secrets, Problem{Origin: secret.Origin, Guest: g.Label(), Field: strings.TrimPrefix(secretFields[secret.Key], "spec."), Message: e.Path + ": " + problem.Reason, Hint: problem.Hint})
			}
		}
	}
	s.Warnings = slices.Concat(s.Warnings, (&report{list: r.warnings}).sorted())
	return s, r.err()
}

func checkEncrypted(e guest.Encrypted) *encrypted.Error {
	if e.Problem != "" {
		return &encrypted.Error{Reason: e.Problem, Hint: "commit the encrypted file, or correct the path, which begins at the root of the repository"}
	}
	err := encrypted.Check(encrypted.Format(e.Format), []byte(e.Content), e.Key)
	if problem := (*encrypted.Error)(nil); errors.As(err, &problem) {
		return problem
	}
	return nil
}
