package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// secretRef names a secret. Its content is never in a repository.
type secretRef struct{ file opt[string] }

func (s *secretRef) fields() []field {
	return []field{{"file", "", "Name of a file in the agent's directory of secrets, without slashes. Required.", text(&s.file, secretName)}}
}

// rejectNonMapping does not repeat the value, which may be a password.
func (s *secretRef) rejectNonMapping(n *tree.Node) rejection {
	got := "a single value"
	if n.Kind == tree.List {
		got = "a list"
	}
	return rejection{"got " + got + ", want a mapping that names a file", "write {file: NAME} with the name of a file in the agent's directory of secrets; a password must not be in a repository"}
}

// secret wants a native key to have the content of a file on the agent's host.
func (l *lowering) secret(key string, ref opt[secretRef]) {
	switch {
	case !ref.set:
	case !ref.value.file.set:
		l.missing(ref.place, "got no file, want the name of one", "add file: and a name within the agent's directory of secrets")
	default:
		l.recordNative(key, ref.place)
		l.secrets = append(l.secrets, guest.Secret{Key: key, File: ref.value.file.value, Origin: guest.Origin(ref.value.file.at)})
	}
}

// sortedSecrets returns the secrets by key.
func (l *lowering) sortedSecrets() []guest.Secret {
	slices.SortFunc(l.secrets, func(a, b guest.Secret) int { return strings.Compare(a.Key, b.Key) })
	return l.secrets
}
