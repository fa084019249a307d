package guest

import (
	"slices"
	"strings"
)

// firewallMacros are the macros of firewall rules in Proxmox VE 9.2. A later release may have more.
//
// Source: PVE API of Proxmox VE 9.2.11, GET /cluster/firewall/macros.
var firewallMacros = strings.Fields(`
	Amanda Auth BGP BitTorrent BitTorrent32 Ceph Citrix CVS DAAP DCC DHCPfwd DHCPv6 Distcc DNS Finger FTP Git GNUnet GRE HKP HTTP HTTPS ICPV2 ICQ
	IMAP IMAPS IPIP IPsec IPsecah IPsecnat IRC Jetdirect L2TP LDAP LDAPS Mail MDNS MSNP MSSQL Munin MySQL NeighborDiscovery NNTP NNTPS NTP OpenVPN
	OSPF PCA Ping PMG POP3 POP3S PostgreSQL PPtP Printer Razor Rdate RDP RIP RNDC Rsync SANE SixXS SMB SMBswat SMTP SMTPS SNMP SPAMD SPICEproxy Squid
	SSH Submission SVN Syslog Telnet Telnets TFTP Time Trcrt VNC VNCL Web Webcache Webmin Whois`)

// FirewallMacros returns the macros of firewall rules in the newest release of Proxmox VE that the agent knows.
func FirewallMacros() []string { return slices.Clone(firewallMacros) }

// IsFirewallMacro reports whether the newest release of Proxmox VE that the agent knows has a macro. Case does not count.
func IsFirewallMacro(name string) bool {
	return slices.ContainsFunc(firewallMacros, func(known string) bool { return strings.EqualFold(known, name) })
}
