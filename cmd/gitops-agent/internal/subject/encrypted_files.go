package subject

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/manifest"
)

// withEncrypted adds the encrypted files of a working copy. Their paths begin at the root of the repository that the first folder is in.
func withEncrypted(set manifest.Set, folders []folder) (manifest.Set, error) {
	paths := set.EncryptedFiles()
	if len(paths) == 0 {
		return set, nil
	}
	root, err := os.OpenRoot(repositoryOf(folders))
	if err != nil {
		return set, err
	}
	defer func() { _ = root.Close() }()
	files := make(map[string]manifest.EncryptedFile, len(paths))
	for _, p := range paths {
		data, problem := readEncrypted(root, p)
		files[p] = manifest.EncryptedFile{Data: data, Problem: problem}
	}
	return set.WithEncrypted(files)
}

// repositoryOf returns the root of the repository that the first folder is in. Without a repository it is the only folder, or the working directory.
func repositoryOf(folders []folder) string {
	if root, found := repositoryRoot(folders[0].dir); found {
		return root
	}
	if len(folders) == 1 {
		return folders[0].dir
	}
	return "."
}

// readEncrypted reads a regular file without following a symbolic link, or returns why it cannot.
func readEncrypted(root *os.Root, name string) (data []byte, problem string) {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := root.Lstat(name[:i])
		switch {
		case err != nil:
			return nil, fmt.Sprintf("it cannot be read below %s: %v", root.Name(), reasonOf(err))
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, "symbolic links are not accepted"
		case i == len(name) && !info.Mode().IsRegular():
			return nil, "it is not a regular file"
		case i == len(name) && info.Size() > encrypted.MaxFile:
			return nil, fmt.Sprintf("it has more than %d bytes", encrypted.MaxFile)
		}
	}
	file, err := root.Open(name)
	if err == nil {
		defer func() { _ = file.Close() }()
		data, err = io.ReadAll(io.LimitReader(file, encrypted.MaxFile+1))
	}
	if err != nil {
		return nil, fmt.Sprintf("it cannot be read below %s: %v", root.Name(), reasonOf(err))
	}
	return data, ""
}

// reasonOf returns an error of the operating system without the path.
func reasonOf(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+len(": "):]
	}
	return text
}
