package sigtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// GitProgram replaces gitsign as git's signing program: with gpg.format x509 and gpg.x509.program set to a binary that calls Run, git
// commit -S and git tag -s sign with a Sigstore in memory. As git starts a process for every signature, the binary should Load the
// Sigstore first and Save it afterwards.
type GitProgram struct {
	Sigstore *Sigstore
	Identity Identity
	Options  SignOptions
	Online   bool // sign as gitsign's online mode does: log the id instead of embedding an entry
	OldTags  bool // with Online: log a tag as older releases of gitsign do, under the id that a commit with its text would have
}

// Run signs for git. args are the arguments that follow the program's name. Run reads the payload from stdin, writes the armored signature to
// stdout, and writes to status the lines by which git recognizes success. status is the file that --status-fd names; git uses 2, standard
// error. Run returns an error for every other request, including verification.
func (g GitProgram) Run(ctx context.Context, args []string, stdin io.Reader, stdout, status io.Writer) error {
	if err := checkGitArgs(args); err != nil {
		return err
	}
	payload, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("read payload: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sign payload: %w", err)
	}
	if g.Online {
		g.Options.Log = Absent()
	}
	m, err := g.Sigstore.Message(payload, g.Identity, g.Options)
	if err != nil {
		return err
	}
	armored, err := m.Armor()
	if err != nil {
		return err
	}
	if g.Online {
		if err := g.logObject(payload, armored, m); err != nil {
			return err
		}
	}
	if _, err := stdout.Write(armored); err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	// Detached, ECDSA, SHA-256, class of a binary document: the numbers are GnuPG's.
	_, err = fmt.Fprintf(status, "[GNUPG:] BEGIN_SIGNING\n[GNUPG:] SIG_CREATED D 19 8 00 %d %X\n", time.Now().Unix(), sha256.Sum256(m.Certificates[0]))
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	return nil
}

// logObject logs the id that git will give to the signed commit or tag.
func (g GitProgram) logObject(payload, armored []byte, m *Message) error {
	if bytes.HasPrefix(payload, []byte("object ")) && !g.OldTags {
		_, err := g.Sigstore.LogOnline(ObjectID("tag", slices.Concat(payload, armored)), m, g.Options)
		return err
	}
	raw, err := AttachToCommit(payload, armored)
	if err != nil {
		return err
	}
	_, err = g.Sigstore.LogOnline(ObjectID("commit", raw), m, g.Options)
	return err
}

// checkGitArgs accepts a request for a detached armored signature, in the spellings of git and of gitsign's own options. It ignores the key
// that git names, because the identity determines whom the certificate names.
func checkGitArgs(args []string) error {
	var asked strings.Builder
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--verify":
			return errors.New("verify signature: this program only signs")
		case arg == "--detach-sign":
			asked.WriteByte('b')
		case arg == "--sign":
			asked.WriteByte('s')
		case arg == "--armor":
			asked.WriteByte('a')
		case arg == "--status-fd", arg == "--local-user":
			i++ // its value
		case strings.HasPrefix(arg, "--status-fd="), strings.HasPrefix(arg, "--local-user="):
		case strings.HasPrefix(arg, "-") && strings.Trim(arg[1:], "bsau") == "":
			asked.WriteString(arg)
			if strings.HasSuffix(arg, "u") {
				i++
			}
		default:
			return fmt.Errorf("parse arguments: got %q, want the arguments of git: --status-fd=2 -bsau KEY", arg)
		}
	}
	for _, want := range "bsa" {
		if !strings.ContainsRune(asked.String(), want) {
			return fmt.Errorf("parse arguments: got %q, want a detached armored signature: -bsau KEY", args)
		}
	}
	return nil
}
