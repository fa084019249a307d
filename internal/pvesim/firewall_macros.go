package pvesim

import "strings"

// firewallMacro is a macro, and the protocol of its first rule.
type firewallMacro struct{ name, proto string }

// firewallMacros are the macros by protocol.
//
// Source: PVE::Firewall $pve_fw_macros.
var firewallMacros = func() []firewallMacro {
	var all []firewallMacro
	for _, l := range []string{
		`tcp Auth BGP BitTorrent BitTorrent32 CVS Ceph Citrix DAAP DCC Distcc FTP Finger GNUnet Git HKP HTTP HTTPS ICQ IMAP IMAPS IRC Jetdirect LDAP LDAPS
			MSNP MSSQL Mail Munin MySQL NNTP NNTPS PMG POP3 POP3S PostgreSQL Printer RDP RNDC Rdate Rsync SANE SMBswat SMTP SMTPS SPAMD SPICEproxy SSH SVN
			SixXS Squid Submission Telnet Telnets Time VNC VNCL Web Webcache Webmin Whois`,
		`udp Amanda DHCPfwd DHCPv6 DNS ICPV2 IPsec IPsecah IPsecnat L2TP MDNS NTP OpenVPN PCA RIP Razor SMB SNMP Syslog TFTP Trcrt`,
		`icmp Ping`, `icmpv6 NeighborDiscovery`, `47 GRE PPtP`, `94 IPIP`, `89 OSPF`,
	} {
		words := strings.Fields(l)
		for _, name := range words[1:] {
			all = append(all, firewallMacro{name: name, proto: words[0]})
		}
	}
	return all
}()

func findMacro(name string) (firewallMacro, bool) {
	for _, m := range firewallMacros {
		if strings.EqualFold(m.name, name) {
			return m, true
		}
	}
	return firewallMacro{}, false
}

func listMacros(*call) (reply, error) {
	var a array
	for _, m := range firewallMacros {
		var o object
		o.str("macro", m.name)
		o.str("descr", "")
		a.add(&o)
	}
	return dataReply(a.bytes())
}
