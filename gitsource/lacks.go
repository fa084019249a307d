package gitsource

import "cmp"

// CompleteRemote is the remedy for FaultIncomplete.
const CompleteRemote = "the remote is a shallow clone or damaged: complete it with git fetch --unshallow, or name a remote with the whole history of the branch"

// Lacks returns why the repository may lack objects although it is not damaged, with the remedy, or "". Objects that are only in another repository are not
// read: its owner could change them at any time.
func (r *Repository) Lacks() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	files := r.storage.Filesystem()
	hasContent := func(name string) bool {
		info, err := files.Stat(name)
		return err == nil && info.Size() > 0
	}
	switch {
	case hasContent("shallow"):
		return "the clone is shallow: git fetch --unshallow"
	case hasContent("objects/info/alternates"):
		return "the clone borrows objects of another repository (--shared or --reference), which are not read: git repack -a -d, then remove objects/info/alternates"
	}
	cfg, err := r.storage.Config()
	if err == nil && cmp.Or(cfg.Raw.Section("extensions").Option("partialclone"), cfg.Raw.Section("remote").Subsection("origin").Option("partialclonefilter")) != "" {
		return "the clone is partial (--filter): git fetch --refetch --no-filter"
	}
	return ""
}
