# The agent on NixOS, from the Debian package of a release: its program is static, and its unit is the one of this project. Import this file, with config.yaml,
# trusted_root.json and pve-root-ca.pem beside it. The token is a file of the host, which the Nix store does not contain.
{ pkgs, ... }:

let
  gitops-agent = pkgs.stdenvNoCC.mkDerivation {
    pname = "gitops-agent";
    version = "0.1.0";
    src = pkgs.fetchurl {
      url = "https://example.org/releases/gitops-agent_0.1.0_amd64.deb";
      sha256 = "0000000000000000000000000000000000000000000000000000000000000000"; # from SHA256SUMS, whose signature you verified
    };
    nativeBuildInputs = [ pkgs.dpkg ];
    unpackPhase = "dpkg-deb --extract $src .";
    installPhase = ''
      mkdir -p $out/lib/systemd/system
      cp -r usr/bin usr/share $out/
      substitute lib/systemd/system/gitops-agent.service $out/lib/systemd/system/gitops-agent.service \
        --replace-fail /usr/bin/gitops-agent $out/bin/gitops-agent
    '';
  };
in
{
  environment.systemPackages = [ gitops-agent ];

  environment.etc."gitops-agent/config.yaml".source = ./config.yaml;
  environment.etc."gitops-agent/trusted_root.json".source = ./trusted_root.json;
  environment.etc."gitops-agent/pve-root-ca.pem".source = ./pve-root-ca.pem;

  users.groups.gitops-agent = { };
  users.users.gitops-agent = {
    isSystemUser = true;
    group = "gitops-agent";
    home = "/var/lib/gitops-agent";
  };

  systemd.packages = [ gitops-agent ];
  systemd.services.gitops-agent = {
    wantedBy = [ "multi-user.target" ];
    reloadTriggers = [ ./config.yaml ];
    serviceConfig.ConfigurationDirectoryMode = "0755"; # /etc/gitops-agent has no secrets here
    serviceConfig.LoadCredential = [ "token:/var/lib/secrets/gitops-agent-token" ];
  };
}
