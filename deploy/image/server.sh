#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a tidemill server of a stock Debian 12 at its first boot. Terraform writes settings before
# it: CLOUD (aws or gcp), REGION, BUCKET, KEPT (how names of kept secrets begin), ADDRESSES,
# MACHINE_URL, SUMS_SHA256, and either DATABASE_HOST and DATABASE_MASTER, or DATABASE_DISK for a
# PostgreSQL of its own. It may be run again, and on a new machine: what must last is not on it.
set -euo pipefail
umask 077
etc=/etc/tidemill
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "server: $*"; }
die() { echo "server: $*" >&2; exit 1; }

apt() {
  export DEBIAN_FRONTEND=noninteractive
  # Ten minutes for whoever else installs at boot, and no longer.
  apt-get -qq -y -o DPkg::Lock::Timeout=600 --no-install-recommends "$@" > /dev/null
}

install_packages() {
  local packages=(openssl curl postgresql-client)
  # What a tidemill-server that is not static is linked with.
  packages+=(libre2-9 libpugixml1v5 libssl3 libzstd1 libpq5)
  if [[ $CLOUD == aws ]]; then packages+=(awscli); fi # Google's images have gcloud
  apt update
  apt install "${packages[@]}"
}

fetch() { # KEY FILE
  case $CLOUD in
    aws) aws s3 cp --only-show-errors --region "$REGION" "s3://$BUCKET/$1" "$2" ;;
    gcp) gcloud --quiet storage cp "gs://$BUCKET/$1" "$2" ;;
  esac
}
store() { # FILE KEY
  case $CLOUD in
    aws) aws s3 cp --only-show-errors --region "$REGION" "$1" "s3://$BUCKET/$2" ;;
    gcp) gcloud --quiet storage cp "$1" "gs://$BUCKET/$2" ;;
  esac
}

# Reads what is kept under a name. 3: nothing is, yet. That must not be mistaken: new keys in the
# place of those that are only out of reach would make every sealed secret unreadable.
kept() { # NAME FILE
  case $CLOUD in
    aws)
      aws ssm get-parameter --region "$REGION" --name "$KEPT$1" --with-decryption \
        --query Parameter.Value --output text > "$2" 2> "$work/errors" && return 0
      if grep -q ParameterNotFound "$work/errors"; then return 3; fi ;;
    gcp)
      gcloud --quiet secrets versions access latest --secret "$KEPT$1" \
        > "$2" 2> "$work/errors" && return 0
      if grep -q NOT_FOUND "$work/errors"; then return 3; fi ;;
  esac
  cat "$work/errors" >&2
  return 1
}
keep() { # NAME FILE
  case $CLOUD in
    # Never over another one: if two servers begin together, one fails here and is run again.
    aws)
      aws ssm put-parameter --region "$REGION" --name "$KEPT$1" --type SecureString \
        --value "file://$2" > /dev/null ;;
    gcp) gcloud --quiet secrets versions add "$KEPT$1" --data-file "$2" > /dev/null ;;
  esac
}
kept_or_new() { # NAME FILE COMMAND... that writes to standard output
  local status=0
  kept "$1" "$2" || status=$?
  case $status in
    0) ;;
    3)
      say "making $1"
      "${@:3}" > "$2"
      keep "$1" "$2" ;;
    *) die "cannot read $1" ;;
  esac
}

install_programs() {
  local name names=(tidemill-server tidemill tidemill-server.service)
  if [[ $CLOUD == aws ]]; then names+=(aws.pem); fi
  fetch programs/SHA256SUMS "$work/SHA256SUMS"
  echo "$SUMS_SHA256  $work/SHA256SUMS" | sha256sum --check --status ||
    die "programs/SHA256SUMS is not the one that Terraform wrote"
  for name in "${names[@]}"; do
    fetch "programs/$name" "$work/$name"
  done
  (cd "$work" && sha256sum --check --quiet --ignore-missing SHA256SUMS)
  install -m 755 "$work/tidemill-server" "$work/tidemill" /usr/local/bin/
  install -m 644 "$work/tidemill-server.service" /etc/systemd/system/
  if [[ $CLOUD == aws ]]; then install -m 644 "$work/aws.pem" $etc/; fi
}

# PostgreSQL on a disk that outlives this machine. It is attached after the boot has begun.
mount_disk() {
  local waited=0
  until [[ -b $DATABASE_DISK ]]; do
    ((waited++ < 300)) || die "$DATABASE_DISK did not come in five minutes"
    sleep 1
  done
  blkid "$DATABASE_DISK" > /dev/null || mkfs.ext4 -q -L tidemill "$DATABASE_DISK"
  mkdir -p /var/lib/postgresql
  chmod 755 /var/lib/postgresql
  if ! grep -q ' /var/lib/postgresql ' /etc/fstab; then
    echo "LABEL=tidemill /var/lib/postgresql ext4 nofail,x-systemd.before=postgresql.service 0 2" \
      >> /etc/fstab
  fi
  mountpoint -q /var/lib/postgresql || mount /var/lib/postgresql
}
own_database() {
  mount_disk
  apt install postgresql-common
  mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
  apt install postgresql-15
  # Its settings are on the disk, too: what an earlier machine left is taken over as it is. The
  # numbers of users are each machine's own.
  mkdir -p /var/lib/postgresql/etc
  if [[ ! -L /etc/postgresql ]]; then
    rmdir /etc/postgresql
    ln -s /var/lib/postgresql/etc /etc/postgresql
  fi
  chown -R postgres: /var/lib/postgresql
  if [[ ! -d /etc/postgresql/15/main ]]; then (umask 022 && pg_createcluster 15 main); fi
  systemctl enable --quiet postgresql@15-main
  systemctl restart postgresql@15-main
  as_postgres 'createuser tidemill' "SELECT 1 FROM pg_roles WHERE rolname = 'tidemill'"
  as_postgres 'createdb --owner tidemill tidemill' \
    "SELECT 1 FROM pg_database WHERE datname = 'tidemill'"
  database="host=/run/postgresql dbname=tidemill user=tidemill"
}
as_postgres() { # COMMAND QUERY: runs the command unless the query has an answer
  local found
  found=$(runuser -u postgres -- psql -qtAc "$2")
  # shellcheck disable=SC2086
  if [[ $found != 1 ]]; then runuser -u postgres -- $1; fi
}

# A user of our own, with a password that is made here and is nowhere else; the master's is changed
# by the cloud now and then.
cloud_database() {
  local password
  password=$(openssl rand -hex 24)
  "database_user_$CLOUD" "$password"
  database+=" user=tidemill password=$password"
}
database_user_aws() {
  local master=$work/master
  curl -fsS --retry 5 --max-time 60 -o $etc/database.pem \
    "https://truststore.pki.rds.amazonaws.com/$REGION/$REGION-bundle.pem"
  chmod 644 $etc/database.pem
  aws secretsmanager get-secret-value --region "$REGION" --secret-id "$DATABASE_MASTER" \
    --query SecretString --output text > "$master"
  database="host=$DATABASE_HOST dbname=tidemill sslmode=verify-full sslrootcert=$etc/database.pem"
  PGPASSWORD=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["password"])' < "$master") \
    psql -qv ON_ERROR_STOP=1 "$database user=master" << END
SELECT 'CREATE ROLE tidemill LOGIN'
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tidemill') \gexec
ALTER ROLE tidemill PASSWORD '$1';
GRANT tidemill TO CURRENT_USER;
ALTER DATABASE tidemill OWNER TO tidemill;
END
}
database_user_gcp() {
  # From a file: what stands in a command line everybody on the machine can read.
  printf -- '--instance: %s\n--password: %s\n' "$DATABASE_MASTER" "$1" > "$work/user.yaml"
  if gcloud --quiet sql users list --instance "$DATABASE_MASTER" --format 'value(name)' |
    grep -qx tidemill; then
    gcloud --quiet sql users set-password tidemill --flags-file "$work/user.yaml"
  else
    gcloud --quiet sql users create tidemill --flags-file "$work/user.yaml"
  fi
  # Cloud SQL's certificate is for no name; the network is private to this project.
  database="host=$DATABASE_HOST dbname=tidemill sslmode=require"
}

new_certificate_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256; }
covers_addresses() {
  local address
  for address in $ADDRESSES; do
    openssl x509 -noout -checkip "$address" -in $etc/cert.pem | grep -q 'does match' || return 1
  done
}
# A certificate of our own for ten years, kept with its key: machines and people who have it go on
# when this machine is replaced. It is made anew if the addresses are others.
make_certificate() {
  local covered='' address
  kept_or_new certificate-key $etc/cert.key new_certificate_key
  if fetch server/ca.pem $etc/cert.pem 2> /dev/null && covers_addresses; then return 0; fi
  for address in $ADDRESSES; do covered+="${covered:+,}IP:$address"; done
  openssl req -x509 -new -key $etc/cert.key -days 3650 -subj /CN=tidemill \
    -addext "subjectAltName=$covered" -out $etc/cert.pem
  store $etc/cert.pem server/ca.pem
}

# The flags say whose word counts for machines that join without a token.
write_settings() {
  local scheme flags
  case $CLOUD in
    aws) scheme=s3 flags="--aws-certificates $etc/aws.pem" ;;
    gcp) scheme=gs flags="--proof-audience $MACHINE_URL" ;;
  esac
  {
    echo "TIDEMILL_DATABASE=$database"
    echo "TIDEMILL_OBJECTS=$scheme://$BUCKET/tidemill"
    echo "TIDEMILL_SERVER_FLAGS=$flags"
    echo "AWS_REGION=$REGION"
  } > $etc/server.env
  fetch server/tidemill.yaml $etc/tidemill.yaml
  chmod 644 $etc/tidemill.yaml
}

new_token() {
  local folder=$work/token
  chmod 711 "$work"
  mkdir "$folder"
  chown tidemill: "$folder"
  TIDEMILL_DATABASE=$database runuser -u tidemill -- /usr/local/bin/tidemill-server token \
    --file "$folder/token" --name first --role admin --project '*' >&2
  cat "$folder/token"
}

mkdir -p $etc
chmod 755 $etc
install_packages
id tidemill > /dev/null 2>&1 ||
  useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin tidemill
install_programs
if [[ -n $DATABASE_DISK ]]; then own_database; else cloud_database; fi
make_certificate
kept_or_new secret-keys $etc/secret.keys /usr/local/bin/tidemill-server secret-key
write_settings
chown tidemill: $etc/cert.key $etc/cert.pem $etc/secret.keys
kept_or_new admin-token "$work/admin-token" new_token
systemctl daemon-reload
systemctl enable --quiet tidemill-server
systemctl restart tidemill-server
say "ready on port 8443"
