"""Owns which options of the programs that touch files take a value.

What their words then mean is told by `scan.touch`; other programs are left to the rule packs.
"""

from __future__ import annotations

from chrono.scan.gitwork import GIT_OPTIONS
from chrono.scan.rule import Options

OPTIONS: dict[str, Options] = {
    name: ("gnu", (("", frozenset(values.split())),))
    for name, values in {
        "mv": "-t --target-directory -S --suffix",
        "gmv": "-t --target-directory -S --suffix",
        "cp": "-t --target-directory -S --suffix",
        "gcp": "-t --target-directory -S --suffix",
        "install": "-t --target-directory -S --suffix -m --mode -o --owner -g --group",
        "ln": "-t --target-directory -S --suffix",
        "truncate": "-s --size -r --reference",
        "chown": "--reference --from",
        "chgrp": "--reference",
        "chmod": "--reference",
        "rsync": "-e --rsh --exclude --include --exclude-from --include-from --files-from --bwlimit --port --timeout "
        "--max-size --min-size -T --temp-dir --partial-dir --log-file --rsync-path -f --filter --password-file --chmod "
        "--chown --compare-dest --copy-dest --link-dest --backup-dir --suffix -M --block-size -B",
        "scp": "-c -F -i -J -l -o -P -S -D -X",
        "sed": "-e --expression -f --file -l --line-length",
        "gsed": "-e --expression -f --file -l --line-length",
        "perl": "-e -E -I -M -m -F",
        "ruby": "-e -I -r",
        "sort": "-k --key -o --output -t --field-separator -S --buffer-size -T --temporary-directory --parallel",
        "shred": "-n --iterations -s --size",
        "head": "-n -c --lines --bytes",
        "tail": "-n -c --lines --bytes -s --pid",
        "grep": "-e -f -m -A -B -C -d -D --regexp --file --max-count --include --exclude --exclude-dir --color",
        "egrep": "-e -f -m -A -B -C",
        "rg": "-e -f -m -A -B -C -g -t -T --glob --type --regexp --file -j -M -r --replace",
        "curl": "-o --output -D --dump-header -c --cookie-jar -T --upload-file -d --data --data-binary --data-raw "
        "--data-ascii --data-urlencode -F --form --json -H --header -X --request -u --user -A "
        "--user-agent -e --referer "
        "-b --cookie -m --max-time -x --proxy -w --write-out -K --config --connect-timeout --retry --cacert --cert -E "
        "--key --resolve -r --range --url -y -Y -z -Q -P -C --retry-delay",
        "wget": "-O --output-document -o --output-file --post-file --body-file --post-data --header -P "
        "--directory-prefix "
        "-U --user-agent -t --tries -T --timeout -e -a --append-output -i --input-file --method "
        "--body-data -Q -l -A -R -D",
        "tar": "-f --file -C --directory -T --files-from -X --exclude-from --exclude --strip-components --transform",
        "gtar": "-f --file -C --directory -T --files-from -X --exclude-from --exclude",
        "bsdtar": "-f --file -C --directory -T --files-from -X --exclude-from --exclude",
        "zip": "-x -i -P -n -t -b",
        **dict.fromkeys(("7z", "7za", "7zz", "rar"), ""),
        "unzip": "-d -x -P",
        "base64": "-w --wrap -i -o -b",
        "xxd": "-l -s -c -g -o",
        "od": "-t -j -N -w -A",
        "openssl": "-in -out",
        "patch": "-p -i --input -d --directory -o -r -D",
        "tee": "",
        "touch": "-d --date -r --reference -t",
    }.items()
}
OPTIONS["git"] = GIT_OPTIONS
