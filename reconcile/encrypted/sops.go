package encrypted

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"gitops-agent/reconcile/manifest/tree"
)

// maxRecipients bounds how many encrypted data keys are tried.
const maxRecipients = 64

// sopsFile is a parsed file of SOPS. Its values are still encrypted.
type sopsFile struct {
	values   []tree.Entry
	dataKeys []string // encrypted with age, armored
	modified string   // the additional data of the MAC
	mac      string   // encrypted
	onlyMAC  bool     // the MAC covers encrypted values only
	isSecret func(path []string) bool
}

// metadata are the keys of the mapping "sops". A key of a later release could change the meaning of the file, so others are refused.
var metadata = []string{
	"age", "azure_kv", "encrypted_comment_regex", "encrypted_regex", "encrypted_suffix", "gcp_kms", "hc_vault", "hckms", "key_groups", "kms", "lastmodified", "mac",
	"mac_only_encrypted", "pgp", "shamir_threshold", "unencrypted_comment_regex", "unencrypted_regex", "unencrypted_suffix", "version",
}

const sopsHint = "write the file with sops --encrypt --age RECIPIENT, or sops edit"

func notSOPS(reason string) error { return &Error{reason, sopsHint} }

// parseSOPS reads the YAML and the metadata. Characters that tree.Invisible reports are read as in earlier releases: manifest.Set.WithEncrypted refuses them.
func parseSOPS(data []byte) (*sopsFile, error) {
	documents, problems := tree.Read("", data)
	problems = slices.DeleteFunc(problems, func(p tree.Problem) bool { return p.New })
	if len(problems) > 0 { // without the message, which may repeat a text
		return nil, notSOPS(fmt.Sprintf("line %d is not YAML as SOPS writes it, without aliases, tags and repeated keys", problems[0].At.Line))
	}
	if len(documents) != 1 || documents[0].Kind != tree.Mapping {
		return nil, notSOPS("it is not one YAML mapping")
	}
	root := documents[0]
	meta := root.Get("sops")
	if meta == nil || meta.Kind != tree.Mapping {
		return nil, &Error{"it is not encrypted with SOPS: it has no mapping sops", "encrypt it before it is committed, and change every password that was committed unencrypted: sops --encrypt --in-place --age RECIPIENT FILE"}
	}
	f := &sopsFile{values: slices.DeleteFunc(slices.Clone(root.Entries), func(e tree.Entry) bool { return e.Name == "sops" })}
	return f, f.readMetadata(meta)
}

func (f *sopsFile) readMetadata(meta *tree.Node) error {
	for _, e := range meta.Entries {
		if !slices.Contains(metadata, e.Name) {
			return notSOPS(fmt.Sprintf("line %d: this release does not know the metadata", e.Value.Key.Line))
		}
	}
	switch threshold := text(meta, "shamir_threshold"); {
	case threshold != "" && threshold != "0" && threshold != "1", meta.Get("key_groups") != nil && len(meta.Get("key_groups").Items) > 0:
		return notSOPS("it splits its data key over several groups of keys, which is not supported")
	case text(meta, "encrypted_comment_regex") != "" || text(meta, "unencrypted_comment_regex") != "":
		return notSOPS("comments decide what is encrypted in it, which is not supported")
	}
	at, err := time.Parse(time.RFC3339, text(meta, "lastmodified"))
	if err != nil {
		return notSOPS("its metadata has no time lastmodified")
	}
	f.modified = at.Format(time.RFC3339)
	f.mac, f.onlyMAC = text(meta, "mac"), text(meta, "mac_only_encrypted") == "true"
	if _, err := parseValue(f.mac); err != nil {
		return notSOPS("its metadata has no encrypted mac")
	}
	if f.isSecret, err = selector(meta); err != nil {
		return err
	}
	return f.readRecipients(meta.Get("age"))
}

func (f *sopsFile) readRecipients(list *tree.Node) error {
	if list == nil || len(list.Items) == 0 {
		return &Error{"it has no recipient with a key of age", "add the recipient of the agent: sops rotate --in-place --add-age RECIPIENT FILE"}
	}
	if len(list.Items) > maxRecipients {
		return notSOPS(fmt.Sprintf("it has more than %d recipients", maxRecipients))
	}
	var problem error
	for _, item := range list.Items {
		key := text(item, "enc")
		if err := checkEnvelope([]byte(key)); err != nil {
			problem = err
			continue
		}
		f.dataKeys = append(f.dataKeys, key)
	}
	if len(f.dataKeys) == 0 {
		return notSOPS("its data key cannot be used: " + problem.Error())
	}
	return nil
}

// text returns the text of a scalar, "" if there is none.
func text(n *tree.Node, name string) string {
	if v := n.Get(name); v != nil && v.Kind == tree.Scalar && !v.IsNull() {
		return v.Text
	}
	return ""
}

// selector returns which paths of keys are encrypted. One key of a path that matches is enough.
func selector(meta *tree.Node) (func(path []string) bool, error) {
	rules := map[string]string{}
	for _, name := range []string{"unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex"} {
		if rule := text(meta, name); rule != "" {
			rules[name] = rule
		}
	}
	if len(rules) == 0 {
		rules["unencrypted_suffix"] = "_unencrypted"
	}
	if len(rules) > 1 {
		return nil, notSOPS("several rules decide what is encrypted in it, and SOPS writes one")
	}
	for name, rule := range rules {
		matches := func(key string) bool { return strings.HasSuffix(key, rule) }
		if strings.HasSuffix(name, "_regex") {
			pattern, err := regexp.Compile(rule)
			if err != nil {
				return nil, notSOPS("its metadata has an invalid " + name)
			}
			matches = pattern.MatchString
		}
		selects := strings.HasPrefix(name, "encrypted")
		return func(path []string) bool { return slices.ContainsFunc(path, matches) == selects }, nil
	}
	return nil, nil //nolint:nilnil // there is always a rule
}

// find returns the encrypted value at a path of keys with dots.
func (f *sopsFile) find(key string) (*tree.Node, error) {
	path := strings.Split(key, ".")
	n := &tree.Node{Kind: tree.Mapping, Entries: f.values}
	for _, name := range path {
		if n = n.Get(name); n == nil {
			return nil, &Error{"it has no key " + key, "correct the key, or add it: sops edit FILE"}
		}
	}
	if !f.isSecret(path) || n.Kind != tree.Scalar || n.Tag != "!!str" {
		return nil, &Error{"its value at " + key + " is not encrypted text", "encrypt it, and change a password that was committed unencrypted: sops edit FILE"}
	}
	v, err := parseValue(n.Text)
	switch {
	case err != nil:
		return nil, &Error{"its value at " + key + " is not encrypted text", "encrypt it, and change a password that was committed unencrypted: sops edit FILE"}
	case v.kind != "str":
		return nil, &Error{"its value at " + key + " is not text", "put the password in quotes: sops edit FILE"}
	}
	return n, nil
}

// open verifies the MAC over all values and returns the value at a path.
func (f *sopsFile) open(key string, identities []age.Identity) (string, error) {
	wanted, err := f.find(key)
	if err != nil {
		return "", err
	}
	var dataKey []byte
	for _, enc := range f.dataKeys {
		if dataKey, err = openEnvelope([]byte(enc), identities); err == nil {
			break
		}
	}
	switch {
	case err == errIdentity: //nolint:errorlint // it is never wrapped
		return "", &Error{err.Error(), "add the recipient of the agent, which age-keygen -y IDENTITY_FILE prints: sops rotate --in-place --add-age RECIPIENT FILE"}
	case err != nil:
		return "", notSOPS("its data key is damaged")
	}
	c, err := newValueCipher(dataKey)
	if err != nil {
		return "", err
	}
	return f.verified(c, wanted)
}
