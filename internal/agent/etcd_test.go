package agent

import (
	"strings"
	"testing"
	"time"
)

func TestCheckEtcd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		etcd    EtcdConfig
		timeout time.Duration
		want    string // part of the error; "" is none
	}{
		"none":                 {},
		"one member":           {etcd: EtcdConfig{Endpoints: []string{"https://10.0.0.11:2379"}}},
		"without endpoints":    {etcd: EtcdConfig{Prefix: "/home"}, want: "endpoints are missing"},
		"no scheme":            {etcd: EtcdConfig{Endpoints: []string{"10.0.0.11:2379"}}, want: "want an address such as"},
		"a path":               {etcd: EtcdConfig{Endpoints: []string{"https://10.0.0.11:2379/v3"}}, want: "want an address such as"},
		"half a certificate":   {etcd: EtcdConfig{Endpoints: []string{"https://a:1"}, CertFile: "/nowhere"}, want: "cert_file and key_file belong together"},
		"a user alone":         {etcd: EtcdConfig{Endpoints: []string{"https://a:1"}, Username: "agent"}, want: "username and password_file belong together"},
		"no file of authority": {etcd: EtcdConfig{Endpoints: []string{"https://a:1"}, CAFile: "/nowhere"}, want: "read the authorities of etcd"},
		"calls that may take longer than a new leader waits": {
			etcd: EtcdConfig{Endpoints: []string{"https://a:1"}}, timeout: time.Minute, want: "proxmox.timeout: got 1m0s, want at most 35s",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{Journal: JournalConfig{Etcd: tt.etcd}, Proxmox: ProxmoxConfig{Timeout: Duration(tt.timeout)}}
			err := c.checkEtcd()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
