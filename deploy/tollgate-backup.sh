#!/bin/sh
# tollgate-backup FOLDER COMMAND…: one backup into FOLDER by COMMAND, which gets the name of the file as its last word.
#   install -m 755 deploy/tollgate-backup.sh /usr/local/bin/tollgate-backup
# BACKUP_COPY  a command that copies the folder away, such as: rclone copy --immutable /var/backups/tollgate offsite:tollgate
# BACKUP_DAYS  how long files stay in the folder (30). Nothing is deleted after a backup or a copy that failed.
set -eu
umask 077
folder=$1
shift
file=$folder/tollgate-$(date -u +%Y-%m-%dT%H%M%SZ).dump
# Left by a run that was killed.
rm -f "$folder"/tollgate-*.dump.unfinished
trap 'rm -f "$file.unfinished"' EXIT
"$@" "$file.unfinished"
mv "$file.unfinished" "$file"
if [ -n "${BACKUP_COPY:-}" ]; then sh -c "$BACKUP_COPY"; fi
find "$folder" -name 'tollgate-*.dump' -mtime "+${BACKUP_DAYS:-30}" -delete
echo "$file"
