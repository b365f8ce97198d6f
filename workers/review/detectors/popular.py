"""Names of very popular packages, and those that are one slip of a finger away. Pure."""

from __future__ import annotations

import re
from functools import cache

_NAMES = """
    aiohttp alembic ansible anthropic anyio apache-airflow arrow asyncpg attrs babel bandit bcrypt beautifulsoup4 black
    boto boto3 botocore bottle build cachetools celery certifi cffi chardet charset-normalizer cherrypy click cloudpickle
    colorama coverage cryptography cython dask datasets decorator discord django djangorestframework docker docutils
    dulwich elasticsearch factory-boy faker fastapi flake8 flask flask-cors flask-login flask-sqlalchemy fsspec gevent
    gitpython google-api-python-client google-auth google-cloud-storage graphene greenlet grequests grpcio gunicorn
    httplib2 httptools httpx huggingface-hub humanize hypothesis idna importlib-metadata invoke ipython isort itsdangerous
    jinja2 jmespath joblib jsonschema jupyter keras kombu kubernetes langchain lightgbm lxml mako markdown markupsafe
    marshmallow matplotlib mkdocs mock moto msgpack multidict mypy mysqlclient netaddr networkx nltk notebook numba numpy
    oauthlib openai opencv-python openpyxl orjson packaging pandas paramiko passlib pathlib2 peewee pendulum pexpect pillow
    pip pipenv platformdirs playwright pluggy poetry prettytable prometheus-client protobuf psutil psycopg psycopg2
    psycopg2-binary pyarrow pyasn1 pycparser pycrypto pycryptodome pydantic pydantic-settings pyflakes pygithub pygments
    pyinstaller pyjwt pylint pymongo pymysql pynacl pyodbc pyopenssl pyparsing pyqt5 pyqt6 pyramid pyserial pysocks pyspark
    pytest pytest-asyncio pytest-cov pytest-mock pytest-xdist python-dateutil python-dotenv python-multipart pytz pywin32
    pyyaml pyzmq redis regex requests requests-oauthlib rich rsa ruff s3fs s3transfer sanic scikit-learn scipy scrapy
    seaborn selenium sentence-transformers sentry-sdk setuptools shapely simplejson six soupsieve sphinx spacy sqlalchemy
    sqlparse starlette statsmodels structlog sympy tabulate tenacity tensorflow termcolor tokenizers toml tomli tomlkit
    toolz torch torchvision tornado tox tqdm transformers trio twine twisted typer types-requests typing-extensions tzdata
    tzlocal ujson urllib3 uvicorn uvloop virtualenv waitress wandb watchdog websocket-client websockets werkzeug wheel
    wrapt xgboost xlrd xlsxwriter yarl zipp zstandard
"""
POPULAR = frozenset(_NAMES.split())
SHORTEST = 5
"""Names shorter than this are close to too many others to mean anything."""


def canonical(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def mistaken_for(name: str) -> str | None:
    """The very popular package whose name is one edit away from this other name, if there is one.

    An edit is a letter added, left out, changed, or swapped with its neighbour; a hyphen added or left out is one too.
    """
    own = canonical(name)
    if own in POPULAR or len(own) < SHORTEST:
        return None
    return next((known for known in sorted(POPULAR) if len(known) >= SHORTEST and is_one_edit(own, known)), None)


def is_one_edit(one: str, other: str) -> bool:
    """Whether one edit leads from one name to the other."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2][::-1] == long[at : at + 2] and short[at + 2 :] == long[at + 2 :]
    return swapped or short[at + 1 :] == long[at + 1 :]
