#!/bin/bash
# Run once by the image of PostgreSQL, in an empty database.
set -euo pipefail

install --mode 600 /run/secrets/database-key "$PGDATA/server.key"
install --mode 644 /run/secrets/database-certificate "$PGDATA/server.crt"
cat >>"$PGDATA/postgresql.auto.conf" <<END
ssl = on
END
# No connection without TLS from elsewhere.
sed -i 's/^host /hostssl /' "$PGDATA/pg_hba.conf"

psql --set ON_ERROR_STOP=1 --username owner --dbname keyway \
    --set password="$(cat /run/secrets/database-password)" <<'END'
CREATE ROLE keyway LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
ALTER DATABASE keyway OWNER TO keyway;
END
