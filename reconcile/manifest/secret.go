package manifest

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// secretRef names a secret: a file on the agent's host, or a password in an encrypted file of the repository.
type secretRef struct {
	file opt[string]
	sops opt[sopsRef]
	age  opt[ageRef]
}

func (s *secretRef) fields() []field {
	return []field{
		{"file", "", "Name of a file in the agent's directory of secrets, without slashes. One of file, sops and age is required.", text(&s.file, secretName)},
		{"sops", "", "A value in a file of the repository that SOPS encrypted with keys of age.", withExamples(child(&s.sops), `{"file": "secrets.sops.yaml", "key": "web.password"}`)},
		{"age", "", "A file of the repository that age encrypted, with the password as its only line.", withExamples(child(&s.age), `{"file": "web.age"}`)},
	}
}

// sopsRef names a value in a file of SOPS.
type sopsRef struct{ file, key opt[string] }

func (s *sopsRef) fields() []field {
	return []field{
		{"file", "", "Path of the file from the root of the repository; its name ends in .sops.yaml. Required.", text(&s.file, sopsFile)},
		{"key", "", "Path of the value in the file, with dots between its keys. Required.", text(&s.key, sopsKey)},
	}
}

// ageRef names a file of age.
type ageRef struct{ file opt[string] }

func (s *ageRef) fields() []field {
	return []field{{"file", "", "Path of the file from the root of the repository; its name ends in .age. Required.", text(&s.file, ageFile)}}
}

// Rules for the paths of encrypted files and keys in them. A refused text is not repeated, since it may be a password.
var (
	sopsFile = &textRule{want: "the path of a file in the repository that ends in .sops.yaml", examples: []string{"secrets.sops.yaml"}, shape: encryptedPath(encrypted.SOPS), accept: isClean, hidden: true}
	ageFile  = &textRule{want: "the path of a file in the repository that ends in .age", examples: []string{"secrets/web.age"}, shape: encryptedPath(encrypted.Age), accept: isClean, hidden: true}
	sopsKey  = &textRule{want: "keys with dots between them", examples: []string{"web.password"}, shape: exactly(`[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,15}`), hidden: true}
)

// encryptedPath matches relative paths without colons, since a colon separates the parts of the name of a secret.
func encryptedPath(f encrypted.Format) func() *regexp.Regexp {
	return exactly(`[A-Za-z0-9_.+@-][A-Za-z0-9_.+@/ -]*` + regexp.QuoteMeta(f.Suffix()))
}

// isClean accepts a path without empty, "." and ".." parts.
func isClean(p string) bool {
	return path.Clean(p) == p && !strings.HasPrefix(p, "../")
}

// rejectNonMapping does not repeat the value, which may be a password.
func (s *secretRef) rejectNonMapping(n *tree.Node) rejection {
	return rejectPassword(n, "write {file: NAME} with the name of a file in the agent's directory of secrets; an unencrypted password must not be in a repository")
}

func (s *sopsRef) rejectNonMapping(n *tree.Node) rejection {
	return rejectPassword(n, "write {file: secrets.sops.yaml, key: web.password}")
}

func (s *ageRef) rejectNonMapping(n *tree.Node) rejection {
	return rejectPassword(n, "write {file: web.age}")
}

func rejectPassword(n *tree.Node, hint string) rejection {
	got := "a single value"
	if n.Kind == tree.List {
		got = "a list"
	}
	return rejection{"got " + got + ", want a mapping that names a file", hint}
}

// secret wants a native key to have the content of a secret.
func (l *lowering) secret(key string, ref opt[secretRef]) {
	if !ref.set {
		return
	}
	named := 0
	s := guest.Secret{Key: key}
	add := func(at place, name string, e guest.Encrypted) {
		named++
		s.File, s.Encrypted, s.Origin = name, e, guest.Origin(at.at)
	}
	r := ref.value
	if r.file.set {
		add(r.file.place, r.file.value, guest.Encrypted{})
	}
	if r.sops.set {
		file, of := r.sops.value.file, r.sops.value.key
		if !file.set || !of.set {
			l.missing(r.sops.place, "got no file or no key, want both", "write {file: secrets.sops.yaml, key: web.password}")
		}
		add(file.place, encrypted.Name(encrypted.SOPS, file.value, of.value), guest.Encrypted{Format: string(encrypted.SOPS), Path: file.value, Key: of.value})
	}
	if r.age.set {
		file := r.age.value.file
		if !file.set {
			l.missing(r.age.place, "got no file, want the path of one", "write {file: web.age}")
		}
		add(file.place, encrypted.Name(encrypted.Age, file.value, ""), guest.Encrypted{Format: string(encrypted.Age), Path: file.value})
	}
	switch named {
	case 0:
		l.missing(ref.place, "got no file, want the name of one", "add file: and a name within the agent's directory of secrets, or sops: or age: with an encrypted file of the repository")
	case 1:
		l.recordNative(key, ref.place)
		l.secrets = append(l.secrets, s)
	default:
		l.missing(ref.place, "got several of file, sops and age, want one", "")
	}
}

// sortedSecrets returns the secrets by key.
func (l *lowering) sortedSecrets() []guest.Secret {
	slices.SortFunc(l.secrets, func(a, b guest.Secret) int { return strings.Compare(a.Key, b.Key) })
	return l.secrets
}
