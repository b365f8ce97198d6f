"""Which countries lie how far apart."""

HOME = "DE"

ZONES = {
    1: {"AT", "BE", "CZ", "DK", "LU", "NL", "PL"},
    2: {"ES", "FI", "FR", "GB", "HU", "IE", "IT", "PT", "SE", "SK", "SI"},
    3: {"BG", "CH", "EE", "GR", "HR", "LT", "LV", "NO", "RO"},
}
CUSTOMS = {"CH", "GB", "NO"}
REMOTE_PREFIXES = {
    "DE": ("18565", "25849", "25938", "25946", "26465", "26474", "26548", "26571", "26579", "26757", "27498"),
    "FR": ("20",),
    "ES": ("35", "38", "51", "52"),
    "IT": ("07", "08", "09"),
}


def zone(origin, destination):
    """0 within a country, else the zone of the farther end; raises KeyError for a country that is not served."""
    if origin == destination:
        return 0
    return max(_zone_from_home(origin), _zone_from_home(destination))


def _zone_from_home(country):
    if country == HOME:
        return 0
    for number, countries in ZONES.items():
        if country in countries:
            return number
    raise KeyError(country)


def countries(text):
    """Read a list of country codes as people write it: "de,fr"."""
    return {code.upper() for code in text.split(",")}


def served():
    """Every country that a parcel can go to, sorted."""
    return sorted({HOME}.union(*ZONES.values()))


def needs_customs(origin, destination):
    return origin != destination and (origin in CUSTOMS or destination in CUSTOMS)


def is_remote(country, postcode):
    """Islands and the like, which cost extra."""
    compact = postcode.replace(" ", "")
    return any(compact.startswith(prefix) for prefix in REMOTE_PREFIXES.get(country, ()))
