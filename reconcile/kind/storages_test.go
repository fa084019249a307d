package kind_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// TestApart compares storages by how Proxmox spells their configuration. What may be one place is not apart.
func TestApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b  string // properties
		apart bool
	}{
		"folders":                {`"type":"dir","path":"/srv/a"`, `"type":"dir","path":"/srv/b"`, true},
		"folder_in_folder":       {`"type":"dir","path":"/srv/a"`, `"type":"dir","path":"/srv/a/b"`, true},
		"trailing_slash":         {`"type":"dir","path":"/srv/a"`, `"type":"dir","path":"/srv/a/"`, false},
		"dots":                   {`"type":"dir","path":"/srv/a"`, `"type":"btrfs","path":"/srv//b/../a"`, false},
		"content_dirs":           {`"type":"dir","path":"/srv/a"`, `"type":"dir","path":"/srv","content-dirs":{"backup":"a/dump","iso":"x"}`, false},
		"content_dirs_text":      {`"type":"dir","path":"/srv/a"`, `"type":"dir","path":"/srv","content-dirs":"iso=x,backup=a/dump/"`, false},
		"other_content_dirs":     {`"type":"dir","path":"/srv/a"`, `"type":"dir","path":"/srv/a","content-dirs":{"backup":"other"}`, true},
		"mount":                  {`"type":"dir","path":"/mnt/pve/a"`, `"type":"nfs","server":"nas","export":"/b","path":"/mnt/pve/a"`, false},
		"below_a_mount":          {`"type":"dir","path":"/mnt/pve/b/sub"`, `"type":"nfs","server":"nas","export":"/b","content-dirs":{"backup":"sub/dump"},"path":"/mnt/pve/b"`, false},
		"exports":                {`"type":"nfs","server":"nas","export":"/a","path":"/m/a"`, `"type":"nfs","server":"nas","export":"/b","path":"/m/b"`, true},
		"export":                 {`"type":"nfs","server":"nas","export":"/a/","path":"/m/a"`, `"type":"nfs","server":"NAS","export":"/a","path":"/m/b"`, false},
		"export_of_another_name": {`"type":"nfs","server":"nas","export":"/a","path":"/m/a"`, `"type":"nfs","server":"10.0.0.5","export":"/a","path":"/m/b"`, false},
		"subdir":                 {`"type":"nfs","server":"nas","export":"/a","subdir":"/b","path":"/m/a"`, `"type":"nfs","server":"nas","export":"/a/b","path":"/m/b"`, false},
		"export_and_folder":      {`"type":"nfs","server":"nas","export":"/a","content-dirs":{"backup":"b/dump"},"path":"/m/a"`, `"type":"nfs","server":"nas","export":"/a/b","path":"/m/b"`, false},
		"root_of_exports":        {`"type":"nfs","server":"nas","export":"/srv/a","path":"/m/a"`, `"type":"nfs","server":"nas","export":"/a","path":"/m/b"`, false},
		"shares":                 {`"type":"cifs","server":"nas","share":"a","path":"/m/a"`, `"type":"cifs","server":"nas","share":"b","path":"/m/b"`, true},
		"share":                  {`"type":"cifs","server":"nas","share":"Backup","subdir":"/X","path":"/m/a"`, `"type":"cifs","server":"nas","share":"backup","subdir":"x","path":"/m/b"`, false},
		"protocols":              {`"type":"cifs","server":"nas","share":"a","path":"/m/a"`, `"type":"nfs","server":"other","export":"/b","path":"/m/b"`, false},
		"gluster":                {`"type":"glusterfs","server":"a","server2":"b","volume":"v","path":"/m/a"`, `"type":"glusterfs","server":"b","volume":"v","path":"/m/b"`, false},
		"gluster_volumes":        {`"type":"glusterfs","server":"a","volume":"v","path":"/m/a"`, `"type":"glusterfs","server":"a","volume":"w","path":"/m/b"`, true},
		"cephfs":                 {`"type":"cephfs","monhost":"a,b","path":"/m/a"`, `"type":"cephfs","monhost":"b a","fs-name":"cephfs","subdir":"/","path":"/m/b"`, false},
		"datastores":             {`"type":"pbs","server":"p","datastore":"x"`, `"type":"pbs","server":"p","datastore":"y"`, true},
		"datastore":              {`"type":"pbs","server":"p","datastore":"x"`, `"type":"pbs","server":"P.","port":8007,"datastore":"x","namespace":""`, false},
		"namespaces":             {`"type":"pbs","server":"p","datastore":"x"`, `"type":"pbs","server":"p","datastore":"x","namespace":"n"`, true},
		"servers_with_keys":      {`"type":"pbs","server":"p","datastore":"x","fingerprint":"AA:01"`, `"type":"pbs","server":"q","datastore":"x","fingerprint":"bb:02"`, true},
		"server_with_key":        {`"type":"pbs","server":"p","datastore":"x","fingerprint":"AA:01"`, `"type":"pbs","server":"q","datastore":"x","fingerprint":"aa:01"`, false},
		"backup_server_and_dir":  {`"type":"pbs","server":"p","datastore":"x"`, `"type":"dir","path":"/x"`, true},
		"unknown_type":           {`"type":"drbd"`, `"type":"dir","path":"/x"`, false},
		"no_backups":             {`"type":"lvmthin"`, `"type":"dir","path":"/x"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			get := func(context.Context, string, string) (json.RawMessage, error) {
				return json.RawMessage(`[{"storage":"a",` + test.a + `},{"storage":"b",` + test.b + `}]`), nil
			}
			list, err := kind.ReadStorages(t.Context(), get)
			if err != nil {
				t.Fatal(err)
			}
			read := cluster.Objects{ByID: map[string]cluster.Object{"a": list[0], "b": list[1]}}
			if one, two := kind.Apart(read, "a", "b"), kind.Apart(read, "b", "a"); one != test.apart || two != test.apart {
				t.Errorf("got apart %t and %t, want %t", one, two, test.apart)
			}
			if kind.Apart(read, "a", "hidden") {
				t.Error("a storage that the token may not see is apart, want that it may be any")
			}
			if read.Err = "no answer"; kind.Apart(read, "a", "b") {
				t.Error("storages whose newest reading failed are apart, want that this is not known")
			}
		})
	}
	if _, err := kind.ReadStorages(t.Context(), func(context.Context, string, string) (json.RawMessage, error) { return nil, errors.New("no answer") }); err == nil {
		t.Error("got no error without a reply")
	}
}
