package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/verify"
)

// maxEncrypted is the largest sum of the encrypted files of a tree, in bytes.
const maxEncrypted = 32 << 20

// encryptedFiles reads the encrypted files of a tree to which passwords refer. What is wrong with a file concerns only the guests that refer to it; an
// error means that the repository could not be read.
func encryptedFiles(ctx context.Context, repo *gitsource.Repository, tree gitsource.ID, paths []string, scope Scope) (map[string]manifest.EncryptedFile, error) {
	files := make(map[string]manifest.EncryptedFile, len(paths))
	total := 0
	for _, p := range paths {
		if !manifest.InFolders(p, scope.Paths) {
			files[p] = manifest.EncryptedFile{Problem: "it is outside of source.paths"}
			continue
		}
		data, err := repo.File(ctx, tree, p, encrypted.MaxFile)
		total += len(data)
		var unfit *gitsource.TreeError
		f := manifest.EncryptedFile{Data: data}
		switch {
		case errors.Is(err, gitsource.ErrNoPath):
			f.Problem = "the commit does not contain it"
		case errors.Is(err, gitsource.ErrTooLarge):
			f.Problem = fmt.Sprintf("it has more than %d bytes", encrypted.MaxFile)
		case errors.As(err, &unfit):
			f.Problem = unfit.Reason
		case err != nil:
			return nil, err
		case total > maxEncrypted:
			f = manifest.EncryptedFile{Problem: fmt.Sprintf("the encrypted files together have more than %d MiB", maxEncrypted>>20)}
		}
		files[p] = f
	}
	return files, nil
}

// foreignSecrets returns the encrypted files to which guests refer after some commits and not before, and which one of the signers may not change. A
// signer who may not change a file could otherwise give its password to a guest that the signer controls, and read it there.
func foreignSecrets(before, after *loweredTree, commits []verify.SignedCommit) []string {
	var foreign []string
	for label, d := range after.guests {
		known := make(map[string]bool)
		if before != nil {
			for _, s := range before.guests[label].Secrets {
				known[s.Key+" "+s.File] = true
			}
		}
		for _, s := range d.Secrets {
			file := s.Encrypted.Path
			outside := func(c verify.SignedCommit) bool { return len(c.Paths) > 0 && !c.MayChangePath(file) }
			if file != "" && !known[s.Key+" "+s.File] && slices.ContainsFunc(commits, outside) {
				foreign = append(foreign, file+" in "+label)
			}
		}
	}
	slices.Sort(foreign)
	return foreign
}
